//! The columns that one field declares.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream};
use syn::{Error, Expr, Field, Ident, LitStr, Meta, Result, Token, Type};

/// Words for provenances and their variants; `peak` is that of the peak which the table names.
const PROVENANCES: [(&str, Option<&str>); 7] = [
    ("measured", Some("Measured")),
    ("predicted", Some("Predicted")),
    ("recorded", Some("Profile")),
    ("compiler", Some("StaticCost")),
    ("derived", Some("Derived")),
    ("inferred", Some("Inferred")),
    ("peak", None),
];

/// The words for provenances, for messages.
pub fn provenance_words() -> String {
    PROVENANCES.map(|(word, _)| word).join(", ")
}

/// `word`, if it names a provenance.
pub fn checked_provenance(word: Ident) -> Result<Ident> {
    if PROVENANCES.iter().any(|(known, _)| word == known) {
        return Ok(word);
    }
    let message = format!("no provenance `{word}`: one of {}", provenance_words());
    Err(Error::new_spanned(word, message))
}

/// A field with its columns.
pub struct FieldColumns {
    name: Ident,
    tokens: Vec<TokenStream>,
}

impl FieldColumns {
    /// Reads the attributes of `field`.
    pub fn parse(field: &Field, provenance: &Ident) -> Result<Self> {
        let name = field
            .ident
            .clone()
            .unwrap_or_else(|| Ident::new("_", Span::call_site()));
        let mut columns = Self {
            name,
            tokens: Vec::new(),
        };
        for attribute in &field.attrs {
            if attribute.path().is_ident("column") {
                let attribute = match attribute.meta {
                    Meta::Path(_) => Attribute::Column(Box::default()),
                    _ => attribute.parse_args()?,
                };
                let tokens = match attribute {
                    Attribute::Nested => columns.nested(),
                    Attribute::Column(column) => columns.column(*column, field, provenance),
                };
                columns.tokens.push(tokens);
            }
        }
        Ok(columns)
    }

    /// Calls that declare the columns.
    pub fn tokens(self) -> TokenStream {
        self.tokens.into_iter().collect()
    }

    fn nested(&self) -> TokenStream {
        let name = &self.name;
        quote!(columns.nested(|row: &Self| ::engine::NestedRow::row(&row.#name));)
    }

    fn column(&self, column: ColumnAttribute, field: &Field, provenance: &Ident) -> TokenStream {
        let name = &self.name;
        let id = column
            .id
            .map_or_else(|| name.unraw().to_string(), |id| id.value());
        let unit = column
            .unit
            .unwrap_or_else(|| Ident::new(unit_of(&id, &field.ty), Span::call_site()));
        let provenance = column.provenance.as_ref().unwrap_or(provenance);
        let variant = PROVENANCES.iter().find(|(word, _)| provenance == word);
        let provenance = if let Some(variant) = variant.and_then(|(_, variant)| *variant) {
            let variant = Ident::new(variant, Span::call_site());
            quote!(Some(::engine::Provenance::#variant))
        } else {
            quote!(None)
        };
        let title = column
            .title
            .map_or_else(|| title_of(&id), |title| title.value());
        let (kind, cell) = if let Some(with) = column.with {
            (
                quote!(::engine::kind_of::<Self, _, _>(#with)),
                quote!(::engine::cell_of(row, #with)),
            )
        } else {
            let of = &field.ty;
            let shown = column.is_non_empty.then(|| quote!(.non_empty()));
            (
                quote!(<#of as ::engine::CellType>::KIND),
                quote!(::engine::CellType::cell(&row.#name)#shown),
            )
        };
        quote! {
            columns.column([#id, #title], ::engine::Unit::#unit, #provenance, #kind, |row: &Self| #cell);
        }
    }
}

/// What `#[column]` or `#[column(…)]` says.
enum Attribute {
    /// The columns of the row in this field.
    Nested,
    Column(Box<ColumnAttribute>),
}

#[derive(Default)]
struct ColumnAttribute {
    title: Option<LitStr>,
    provenance: Option<Ident>,
    id: Option<LitStr>,
    unit: Option<Ident>,
    with: Option<Expr>,
    is_non_empty: bool,
}

impl Parse for Attribute {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut column = Box::new(ColumnAttribute {
            title: input.parse()?,
            ..ColumnAttribute::default()
        });
        if column.title.is_some() && !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
        while !input.is_empty() {
            let word: Ident = input.parse()?;
            if word == "nested" {
                return Ok(Self::Nested);
            } else if word == "non_empty" {
                column.is_non_empty = true;
            } else if input.parse::<Option<Token![=]>>()?.is_none() {
                column.provenance = Some(checked_provenance(word)?);
            } else {
                match word.to_string().as_str() {
                    "id" => column.id = Some(input.parse()?),
                    "unit" => column.unit = Some(input.parse()?),
                    "with" => column.with = Some(input.parse()?),
                    _ => return Err(Error::new_spanned(word, "`id`, `unit` or `with`")),
                }
            }
            if input.parse::<Option<Token![,]>>()?.is_none() {
                break;
            }
        }
        Ok(Self::Column(column))
    }
}

/// The title of a column that declares none: the words of its name without the unit, `self_time_ps` as `Self time`.
fn title_of(id: &str) -> String {
    let units = ["_ps", "_percent", "_bytes"];
    let words = units.iter().find_map(|unit| id.strip_suffix(unit));
    let mut title = words.unwrap_or(id).replace('_', " ");
    if let Some(first) = title.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    title
}

/// The unit that the name of a column tells; whole numbers without such a name are counts.
fn unit_of(id: &str, field: &Type) -> &'static str {
    let by_name = [
        ("_ps", "Picoseconds"),
        ("percent", "Percent"),
        ("flops_per_second", "FlopPerSecond"),
        ("bytes_per_second", "BytesPerSecond"),
        ("bandwidth", "BytesPerSecond"),
        ("_per_byte", "FlopPerByte"),
        ("_per_hbm_byte", "FlopPerByte"),
        ("flops", "Flop"),
        ("bytes", "Bytes"),
    ];
    let by_ending = by_name.iter().find(|(ending, _)| id.ends_with(ending));
    match by_ending {
        Some(&(_, unit)) => unit,
        None if is_whole_number(field) => "Count",
        None => "None",
    }
}

/// Whether `field` is an integer, or one that may be missing.
fn is_whole_number(field: &Type) -> bool {
    let text: String = quote!(#field).to_string().split_whitespace().collect();
    let inner = text
        .strip_prefix("Option<")
        .and_then(|inner| inner.strip_suffix('>'))
        .unwrap_or(&text);
    ["u8", "u16", "u32", "u64", "usize", "i32", "i64"].contains(&inner)
}
