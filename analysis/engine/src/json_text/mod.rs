//! A JSON serializer that writes text directly, sorts keys and truncates long lists.
//!
//! A report with a million rows takes gigabytes as a tree of values. Here an omitted row costs nothing, and a written
//! one only its text. The output equals that of a pretty-printed [`serde_json::Value`]: keys sorted by their bytes, two
//! spaces per level.

use std::borrow::Cow;
use std::ops::Range;

use schemars::JsonSchema;
use serde::{Serialize, Serializer, ser};
use serde_json::{Error, Result};

/// A truncated list.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TruncatedList {
    /// Its place (a JSON Pointer, RFC 6901).
    pub path: String,
    /// Number of entries written.
    pub shown: usize,
    /// Number of entries of the full list.
    pub total: usize,
}

/// One part of a path, in the order in which a document is read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PathSegment {
    Index(usize),
    Key(Cow<'static, str>),
}

/// JSON text under construction.
#[derive(Debug, Default)]
pub struct JsonText {
    text: Vec<u8>,
    top: usize,
    depth: usize,
    path: Vec<PathSegment>,
    cuts: Vec<(Vec<PathSegment>, usize, usize)>,
    /// Whether the last value written is an object.
    wrote_object: bool,
}

impl JsonText {
    /// Continues `text`. Lists of objects are truncated to the first `top` entries; 0 writes all. Lists of plain values
    /// belong to one entry and are never truncated.
    pub fn after(text: String, top: usize) -> Self {
        Self {
            text: text.into_bytes(),
            top,
            ..Self::default()
        }
    }

    /// Appends text that is already JSON, or a fragment of it.
    pub fn raw(&mut self, text: &str) {
        self.text.extend_from_slice(text.as_bytes());
    }

    /// Writes a value that lies at `path`, indented by its depth.
    ///
    /// # Errors
    ///
    /// As serde: a value that JSON cannot represent.
    pub fn value(&mut self, value: &(impl Serialize + ?Sized), path: &[&str]) -> Result<()> {
        self.path = path
            .iter()
            .map(|&key| PathSegment::Key(Cow::Owned(key.to_owned())))
            .collect();
        self.depth = path.len();
        let earlier = self.cuts.len();
        value.serialize(&mut *self)?;
        if let Some(cuts) = self.cuts.get_mut(earlier..) {
            cuts.sort();
        }
        Ok(())
    }

    /// Counts a list below `path` of which the value holds only a part.
    pub fn cut(&mut self, path: &[&str], list: Option<TruncatedList>) {
        let segment = |key: &str| PathSegment::Key(Cow::Owned(key.to_owned()));
        let path = path.iter().copied();
        self.cuts.extend(list.map(|list| {
            let path = path.chain(list.path.split('/').skip(1));
            (path.map(segment).collect(), list.shown, list.total)
        }));
    }

    /// The text and the truncated lists, in document order.
    pub fn finish(self) -> (String, Vec<TruncatedList>) {
        let text = String::from_utf8(self.text).unwrap_or_else(|error| error.to_string());
        let cut = |(path, shown, total): &(Vec<PathSegment>, usize, usize)| TruncatedList {
            path: path.iter().map(PathSegment::pointer).collect(),
            shown: *shown,
            total: *total,
        };
        (text, self.cuts.iter().map(cut).collect())
    }

    fn plain(&mut self, value: &(impl Serialize + ?Sized)) -> Result<()> {
        self.wrote_object = false;
        serde_json::to_writer(&mut self.text, value)
    }

    fn new_line(&mut self) {
        self.text.push(b'\n');
        self.text.extend(std::iter::repeat_n(b' ', 2 * self.depth));
    }

    /// Ends what `open` started; the comma after its last entry goes.
    fn close(&mut self, bracket: u8) {
        self.depth = self.depth.saturating_sub(1);
        if self.text.last() == Some(&b',') {
            self.text.pop();
            self.new_line();
        }
        self.text.push(bracket);
    }

    fn list(&mut self, within: bool) -> JsonList<'_> {
        self.text.push(b'[');
        self.depth += 1;
        JsonList {
            out: self,
            entries: 0,
            written: 0,
            of_objects: false,
            within,
        }
    }

    fn object(&mut self, within: bool) -> JsonObject<'_> {
        self.text.push(b'{');
        self.depth += 1;
        JsonObject {
            out: self,
            fields: Vec::new(),
            key: None,
            within,
        }
    }

    /// Starts the object around a variant that has a value.
    fn variant(&mut self, name: &'static str) -> Result<()> {
        self.text.push(b'{');
        self.depth += 1;
        self.new_line();
        serde_json::to_writer(&mut self.text, name)?;
        self.text.extend_from_slice(b": ");
        self.path.push(PathSegment::Key(Cow::Borrowed(name)));
        Ok(())
    }

    fn end_variant(&mut self) {
        self.path.pop();
        self.text.push(b',');
        self.close(b'}');
        self.wrote_object = true;
    }

    /// Sorts the fields of an object by key if they are out of order; the largest field is moved in place.
    fn sort(&mut self, fields: &[(Cow<'static, str>, usize)]) {
        if fields.is_sorted_by(|a, b| a.0 <= b.0) {
            return;
        }
        let end = self.text.len();
        let ends = fields.iter().skip(1).map(|field| field.1).chain([end]);
        let mut pieces: Vec<(&str, Range<usize>)> = fields
            .iter()
            .zip(ends)
            .map(|((key, start), end)| (key.as_ref(), *start..end))
            .collect();
        pieces.sort_by_key(|piece| piece.0);
        let Some(largest) = pieces
            .iter()
            .map(|piece| piece.1.clone())
            .max_by_key(Range::len)
        else {
            return;
        };
        let Some(first) = fields.first().map(|field| field.1) else {
            return;
        };
        let others = [first..largest.start, largest.end..end]
            .map(|range| self.text.get(range).unwrap_or_default())
            .concat();
        let before: usize = pieces
            .iter()
            .take_while(|piece| piece.1 != largest)
            .map(|piece| piece.1.len())
            .sum();
        self.text.copy_within(largest.clone(), first + before);
        let mut place = first;
        for (_, piece) in pieces {
            let length = piece.len();
            if piece != largest {
                let from = piece.start
                    - if piece.start < largest.start {
                        first
                    } else {
                        first + largest.len()
                    };
                if let (Some(to), Some(from)) = (
                    self.text.get_mut(place..place + length),
                    others.get(from..from + length),
                ) {
                    to.copy_from_slice(from);
                }
            }
            place += length;
        }
    }
}

impl PathSegment {
    fn pointer(&self) -> String {
        match self {
            Self::Index(index) => format!("/{index}"),
            Self::Key(key) => format!("/{}", key.replace('~', "~0").replace('/', "~1")),
        }
    }
}

/// A list that is being written.
#[derive(Debug)]
pub struct JsonList<'a> {
    out: &'a mut JsonText,
    entries: usize,
    written: usize,
    of_objects: bool,
    /// Whether it is the value of an enum variant.
    within: bool,
}

impl JsonList<'_> {
    fn entry(&mut self, value: &(impl Serialize + ?Sized)) -> Result<()> {
        self.entries += 1;
        if self.of_objects && self.out.top > 0 && self.written >= self.out.top {
            return Ok(());
        }
        self.out.new_line();
        self.out.path.push(PathSegment::Index(self.written));
        value.serialize(&mut *self.out)?;
        self.out.path.pop();
        self.out.text.push(b',');
        self.of_objects = if self.written == 0 {
            self.out.wrote_object
        } else {
            self.of_objects
        };
        self.written += 1;
        Ok(())
    }

    fn end(self) {
        if self.written < self.entries {
            self.out
                .cuts
                .push((self.out.path.clone(), self.written, self.entries));
        }
        self.out.close(b']');
        self.out.wrote_object = false;
        if self.within {
            self.out.end_variant();
        }
    }
}

/// An object that is being written.
#[derive(Debug)]
pub struct JsonObject<'a> {
    out: &'a mut JsonText,
    /// Keys and the offsets of their text.
    fields: Vec<(Cow<'static, str>, usize)>,
    key: Option<String>,
    /// It is the value of a variant.
    within: bool,
}

impl JsonObject<'_> {
    fn field(&mut self, key: Cow<'static, str>, value: &(impl Serialize + ?Sized)) -> Result<()> {
        self.fields.push((key.clone(), self.out.text.len()));
        self.out.new_line();
        serde_json::to_writer(&mut self.out.text, &key)?;
        self.out.text.extend_from_slice(b": ");
        self.out.path.push(PathSegment::Key(key));
        value.serialize(&mut *self.out)?;
        self.out.path.pop();
        self.out.text.push(b',');
        Ok(())
    }

    fn finish(self) {
        self.out.sort(&self.fields);
        self.out.close(b'}');
        self.out.wrote_object = true;
        if self.within {
            self.out.end_variant();
        }
    }
}

macro_rules! plain {
    ($($name:ident: $type:ty),*) => {
        $(fn $name(self, value: $type) -> Result<()> {
            self.plain(&value)
        })*
    };
}

impl<'a> Serializer for &'a mut JsonText {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = JsonList<'a>;
    type SerializeTuple = JsonList<'a>;
    type SerializeTupleStruct = JsonList<'a>;
    type SerializeTupleVariant = JsonList<'a>;
    type SerializeMap = JsonObject<'a>;
    type SerializeStruct = JsonObject<'a>;
    type SerializeStructVariant = JsonObject<'a>;

    plain!(serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64);
    plain!(serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64);
    plain!(serialize_f64: f64, serialize_char: char, serialize_str: &str, serialize_bytes: &[u8]);

    /// Written as its exact value.
    fn serialize_f32(self, value: f32) -> Result<()> {
        self.plain(&f64::from(value))
    }

    fn serialize_none(self) -> Result<()> {
        self.plain(&())
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<()> {
        self.plain(&())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<()> {
        self.plain(&())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<()> {
        self.plain(variant)
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<()> {
        self.variant(variant)?;
        value.serialize(&mut *self)?;
        self.end_variant();
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<JsonList<'a>> {
        Ok(self.list(false))
    }

    fn serialize_tuple(self, _: usize) -> Result<JsonList<'a>> {
        Ok(self.list(false))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<JsonList<'a>> {
        Ok(self.list(false))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<JsonList<'a>> {
        self.variant(variant)?;
        Ok(self.list(true))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<JsonObject<'a>> {
        Ok(self.object(false))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<JsonObject<'a>> {
        Ok(self.object(false))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<JsonObject<'a>> {
        self.variant(variant)?;
        Ok(self.object(true))
    }
}

macro_rules! entries {
    ($($of:ident, $method:ident);*) => {
        $(impl ser::$of for JsonList<'_> {
            type Ok = ();
            type Error = Error;
            fn $method<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<()> {
                self.entry(value)
            }
            fn end(self) -> Result<()> {
                JsonList::end(self);
                Ok(())
            }
        })*
    };
}

entries!(
    SerializeSeq, serialize_element;
    SerializeTuple, serialize_element;
    SerializeTupleStruct, serialize_field;
    SerializeTupleVariant, serialize_field
);

macro_rules! fields {
    ($($of:ident),*) => {
        $(impl ser::$of for JsonObject<'_> {
            type Ok = ();
            type Error = Error;
            fn serialize_field<T: ?Sized + Serialize>(&mut self, key: &'static str, value: &T) -> Result<()> {
                self.field(Cow::Borrowed(key), value)
            }
            fn end(self) -> Result<()> {
                self.finish();
                Ok(())
            }
        })*
    };
}

fields!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for JsonObject<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: ?Sized + Serialize>(&mut self, key: &T) -> Result<()> {
        let key = serde_json::to_value(key)?;
        self.key = Some(key.as_str().map_or_else(|| key.to_string(), str::to_owned));
        Ok(())
    }

    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<()> {
        let key = self.key.take().unwrap_or_default();
        self.field(Cow::Owned(key), value)
    }

    fn end(self) -> Result<()> {
        self.finish();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
