//! What the types that reports are made of have in common.
//!
//! - `#[row(measured)]`: a row of a report, whose fields declare their columns of the table beside their place in JSON.
//! - `#[reported]`: any other part of a report.
//! - `#[titled]`: an enum whose variants have a title for people.
//!
//! The documentation of the trait `engine::Columns` says what the attributes of fields mean.

mod field;
mod titled;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Fields, Ident, ItemEnum, Result, parse_macro_input};

use field::FieldColumns;

/// A row of a report: what [`macro@reported`] derives, and its columns; the word is their usual provenance.
#[proc_macro_attribute]
pub fn row(
    provenance: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    let (provenance, item) = (TokenStream::from(provenance), TokenStream::from(item));
    quote!(
        #[::engine::reported]
        #[derive(::engine::Columns)]
        #[columns(#provenance)]
        #item
    )
    .into()
}

/// A part of a report: it can be copied, compared, and written as JSON of a known schema.
#[proc_macro_attribute]
pub fn reported(
    _none: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    let item = TokenStream::from(item);
    quote!(
        #[derive(Clone, Debug, PartialEq, ::serde::Serialize, ::schemars::JsonSchema)]
        #item
    )
    .into()
}

/// An enum of a report, `Variant = "title"`: JSON has the name of the variant in kebab case, tables and texts its title.
/// That of `RunId` is `run id` unless it says another.
#[proc_macro_attribute]
pub fn titled(
    _none: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    titled::expand(parse_macro_input!(item as ItemEnum)).into()
}

/// Derives `engine::Columns`.
#[proc_macro_derive(Columns, attributes(columns, column))]
pub fn derive_columns(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(&input)
        .unwrap_or_else(Error::into_compile_error)
        .into()
}

fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(input, "rows are structs"));
    };
    let Fields::Named(fields) = &data.fields else {
        return Err(Error::new_spanned(input, "columns need names of fields"));
    };
    let provenance = default_provenance(input)?;
    let mut steps = TokenStream::new();
    for field in &fields.named {
        steps.extend(FieldColumns::parse(field, &provenance)?.tokens());
    }
    let row = &input.ident;
    let (generics, arguments, bounds) = input.generics.split_for_impl();
    Ok(quote! {
        impl #generics ::engine::Columns for #row #arguments #bounds {
            fn declare(columns: &mut ::engine::DeclaredColumns<Self>) {
                #steps
            }
        }
    })
}

/// The provenance in `#[columns(measured)]`.
fn default_provenance(input: &DeriveInput) -> Result<Ident> {
    let is_ours = |attribute: &&syn::Attribute| attribute.path().is_ident("columns");
    let attribute = input.attrs.iter().find(is_ours).ok_or_else(|| {
        Error::new_spanned(
            &input.ident,
            format!(
                "`#[columns(…)]` is missing, with one of {}",
                field::provenance_words()
            ),
        )
    })?;
    let provenance: Ident = attribute.parse_args()?;
    field::checked_provenance(provenance)
}
