//! Enums whose variants have titles.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Expr, Ident, ItemEnum, Variant, parse_quote};

/// The enum without the titles, and what they become.
pub fn expand(mut item: ItemEnum) -> TokenStream {
    let titles: Vec<Expr> = item.variants.iter_mut().map(title_of).collect();
    let variants: Vec<&Ident> = item.variants.iter().map(|variant| &variant.ident).collect();
    let (name, vis, count) = (&item.ident, &item.vis, variants.len());
    quote! {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ::serde::Serialize, ::schemars::JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        #item

        impl #name {
            /// All of them, in the order of their declaration.
            #vis const ALL: [Self; #count] = [#(Self::#variants),*];

            /// For people.
            #vis const fn title(self) -> &'static str {
                match self {
                    #(Self::#variants => #titles,)*
                }
            }
        }

        impl ::engine::CellType for #name {
            const KIND: ::engine::CellKind = ::engine::CellKind::Text;

            fn cell(&self) -> ::engine::Cell {
                ::engine::Cell::text(self.title())
            }
        }
    }
}

/// The text behind the name of a variant, which is taken away; without one, the words of the name in small letters.
fn title_of(variant: &mut Variant) -> Expr {
    let title = variant.discriminant.take().map(|(_, title)| title);
    title.unwrap_or_else(|| {
        let mut words = String::new();
        for letter in variant.ident.to_string().chars() {
            if letter.is_uppercase() && !words.is_empty() {
                words.push(' ');
            }
            words.extend(letter.to_lowercase());
        }
        parse_quote!(#words)
    })
}
