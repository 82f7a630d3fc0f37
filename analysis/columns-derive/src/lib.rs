//! `#[derive(Columns)]`: a field of a report's row declares its column of the table beside its place in JSON.
//!
//! The documentation of the trait `engine::Columns` says what the attributes mean.

mod field;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Fields, Ident, Result, parse_macro_input};

use field::FieldColumns;

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
