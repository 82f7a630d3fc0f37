//! Enums whose variants have titles.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Expr, Ident, ItemEnum, Result, Variant};

/// The enum without the titles, and what they become.
pub fn expand(mut item: ItemEnum) -> Result<TokenStream> {
    let titles: Vec<Expr> = item
        .variants
        .iter_mut()
        .map(title_of)
        .collect::<Result<_>>()?;
    let variants: Vec<&Ident> = item.variants.iter().map(|variant| &variant.ident).collect();
    let (name, vis, count) = (&item.ident, &item.vis, variants.len());
    Ok(quote! {
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
    })
}

/// The text behind the name of a variant, which is taken away.
fn title_of(variant: &mut Variant) -> Result<Expr> {
    match variant.discriminant.take() {
        Some((_, title)) => Ok(title),
        None => Err(Error::new_spanned(
            &variant.ident,
            "a title is missing: `= \"…\"`",
        )),
    }
}
