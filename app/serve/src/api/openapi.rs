//! The description of the interface (`OpenAPI` 3.1), with the schemas of the types that are read and written.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use super::prelude::*;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use super::{compare, files, model, reports, runs, tables};
use crate::error::{Problem, json as json_answer};
use crate::noted::Noted;

/// Where schemas are in the document.
const SCHEMAS: &str = "/components/schemas";

/// What an address answers.
enum AnswerSchema {
    /// JSON with this schema.
    Json(Value),
    /// Anything.
    Other(&'static str),
}

/// A method of an address.
struct Operation {
    path: &'static str,
    method: &'static str,
    id: &'static str,
    about: &'static str,
    /// Schema of the parameters behind the question mark.
    params: Value,
    /// Schema of the body.
    body: Option<Value>,
    answer: AnswerSchema,
}

struct Writer {
    generator: SchemaGenerator,
    schemas: Map<String, Value>,
    operations: Vec<Operation>,
}

impl Writer {
    fn of<T: JsonSchema>(&mut self) -> Value {
        self.generator.subschema_for::<T>().to_value()
    }

    /// A schema with definitions of its own, which move to those of the document.
    fn whole(&mut self, name: &str, mut schema: Value) -> Value {
        let definitions = schema.as_object_mut().and_then(|whole| {
            whole.remove("$schema");
            whole.remove("$id");
            whole.remove("$defs")
        });
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            let about = "Arguments that change nothing, and what else to know of the answer.";
            let texts = json!({"type": "array", "items": {"type": "string"}, "description": about});
            properties.entry("notes").or_insert(texts);
        }
        moved(&mut schema, name);
        if let Some(Value::Object(definitions)) = definitions {
            for (id, mut definition) in definitions {
                moved(&mut definition, name);
                self.schemas.insert(format!("{name}.{id}"), definition);
            }
        }
        self.schemas.insert(name.to_owned(), schema);
        json!({ "$ref": format!("#{SCHEMAS}/{name}") })
    }

    /// Adds an address that answers with `answer`.
    fn get<P: JsonSchema>(
        &mut self,
        path: &'static str,
        id: &'static str,
        about: &'static str,
        answer: AnswerSchema,
    ) {
        self.operations.push(Operation {
            path,
            method: "get",
            id,
            about,
            params: request::schema_of::<P>().into(),
            body: None,
            answer,
        });
    }

    /// Adds an address that answers with an `A`.
    fn json<P: JsonSchema, A: JsonSchema>(
        &mut self,
        path: &'static str,
        id: &'static str,
        about: &'static str,
    ) {
        let answer = AnswerSchema::Json(self.of::<A>());
        self.get::<P>(path, id, about, answer);
    }

    fn add_all(&mut self) {
        self.json::<(), runs::Health>("/health", "health", "That the server is there.");
        let any = AnswerSchema::Json(json!({"type": "object"}));
        self.get::<()>("/openapi.json", "openapi", "This document.", any);
        let about = "The runs, of each place the newest first.";
        self.json::<runs::PageParams, runs::RunPage>("/runs", "runs", about);
        self.json::<(), runs::RunFacts>("/runs/{id}", "run", "A run and its files.");
        let about = "Devices, steps, verdict and damage of a run, as systole runs lists them.";
        self.json::<(), session::RunSummary>("/runs/{id}/summary", "summary", about);
        let report = self.whole("Report", render::json::schema());
        let about = "All reports: what systole analyze --format json writes.";
        let answer = AnswerSchema::Json(report.clone());
        self.get::<reports::ReportParams>("/runs/{id}/reports", "reports", about, answer);
        let (path, answer) = ("/runs/{id}/reports/{name}", AnswerSchema::Json(report));
        self.get::<reports::ReportParams>(path, "report", "One report.", answer);
        let about = "All reports as a page without scripts and network access.";
        let answer = AnswerSchema::Other("text/html");
        self.get::<AboutParams>("/runs/{id}/html", "page", about, answer);
        let about = "The tables, with their columns.";
        self.json::<AboutParams, Noted<tables::TableList>>("/runs/{id}/tables", "tables", about);
        let path = "/runs/{id}/tables/{name}";
        self.json::<tables::RowParams, Noted<tables::TableRows>>(path, "rows", "Rows of a table.");
        self.json::<(), files::FileList>("/runs/{id}/files", "files", "The files of a run.");
        let about = "The bytes of a file, whole or in part (Range).";
        let answer = AnswerSchema::Other(files::BYTES);
        self.get::<files::FileParams>("/runs/{id}/files/{n}", "file", about, answer);
        let about = "The trace as this version of the program has read it.";
        let answer = AnswerSchema::Other(files::BYTES);
        self.get::<model::ModelParams>("/runs/{id}/model", "model", about, answer);
        let comparison = self.whole("Comparison", render::comparison::schema());
        let answer = AnswerSchema::Json(comparison);
        let about = "What changed between two runs: what systole compare --format json writes.";
        self.get::<compare::CompareParams>("/compare", "compare", about, answer);
        self.add_query();
    }

    fn add_query(&mut self) {
        use super::query::{QueryParams, QueryRows};
        const PATH: &str = "/runs/{id}/query";
        let about = "SQL over the tables; nothing can be written.";
        self.json::<QueryParams, Noted<QueryRows>>(PATH, "query", about);
        let (body, answer) = (self.of::<QueryParams>(), self.of::<Noted<QueryRows>>());
        self.operations.push(Operation {
            path: PATH,
            method: "post",
            id: "long_query",
            about: "The same for a query that is too long for an address.",
            params: Value::Null,
            body: Some(body),
            answer: AnswerSchema::Json(answer),
        });
    }

    fn document(mut self) -> Value {
        self.add_all();
        let problem = self.of::<Problem>();
        let operations = std::mem::take(&mut self.operations);
        let mut paths: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
        for one in operations {
            let path = format!("/api/v1{}", one.path);
            paths
                .entry(path)
                .or_default()
                .insert(one.method.to_owned(), described(one, &problem));
        }
        self.schemas.extend(self.generator.take_definitions(true));
        json!({
            "openapi": "3.1.0",
            "info": {
                "title": "Systole",
                "version": env!("CARGO_PKG_VERSION"),
                "description": "Runs, reports, tables and files of profiles. Times are picoseconds; null is a missing value.",
            },
            "paths": paths,
            "components": {
                "schemas": self.schemas,
                "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            },
            "security": [{}, { "token": [] }],
        })
    }
}

/// References to definitions, in a document where these have the prefix `name`.
fn moved(value: &mut Value, name: &str) {
    match value {
        Value::Object(object) => {
            if let Some(Value::String(to)) = object.get_mut("$ref")
                && let Some(id) = to.strip_prefix("#/$defs/")
            {
                *to = format!("#{SCHEMAS}/{name}.{id}");
            }
            object.values_mut().for_each(|value| moved(value, name));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| moved(value, name)),
        _ => {}
    }
}

fn described(operation: Operation, problem: &Value) -> Value {
    let in_path = operation
        .path
        .split('{')
        .skip(1)
        .filter_map(|part| part.split_once('}'));
    let mut parameters: Vec<Value> = in_path.map(|(name, _)| path_parameter(name)).collect();
    let params = operation.params;
    let required = params["required"].as_array().cloned().unwrap_or_default();
    let properties = params["properties"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    for (name, mut schema) in properties {
        let about = schema
            .as_object_mut()
            .and_then(|schema| schema.remove("description"));
        let is_required = required.contains(&json!(name));
        parameters.push(json!({
            "name": name, "in": "query", "required": is_required, "description": about, "schema": schema,
        }));
    }
    let content = match operation.answer {
        AnswerSchema::Json(schema) => json!({ "application/json": { "schema": schema } }),
        AnswerSchema::Other(kind) => json!({ kind: {} }),
    };
    let failed = |about: &str| json!({ "description": about, "content": { "application/json": { "schema": problem } } });
    let mut responses = json!({
        "200": { "description": "The answer.", "content": content },
        "400": failed("The request is wrong."),
        "401": failed("The token is missing or wrong."),
        "403": failed("The request comes from another site, or a file leads outside."),
        "404": failed("There is no such thing."),
        "414": failed("The address is too long."),
        "422": failed("The run cannot be read, or has no answer."),
        "503": failed("Too much is asked at once, or it takes too long."),
    });
    if operation.id == "file" {
        responses["206"] =
            json!({ "description": "A part of the file.", "content": { files::BYTES: {} } });
        responses["304"] = json!({ "description": "The client has it." });
        responses["416"] = failed("The file has no such part.");
    }
    let mut described = json!({
        "operationId": operation.id, "summary": operation.about, "parameters": parameters, "responses": responses,
    });
    if let Some(schema) = operation.body {
        described["requestBody"] =
            json!({ "required": true, "content": { "application/json": { "schema": schema } } });
        described["responses"]["413"] = failed("The body is too large.");
        described["responses"]["415"] = failed("The body is not JSON.");
    }
    described
}

fn path_parameter(name: &str) -> Value {
    let (schema, about) = match name {
        "n" => (
            json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX }),
            "Number of the file.",
        ),
        "id" => (
            json!({ "type": "string", "minLength": 1 }),
            "Id of the run, as /runs lists it.",
        ),
        _ => (
            json!({ "type": "string", "minLength": 1 }),
            "Name of the report or table.",
        ),
    };
    json!({ "name": name, "in": "path", "required": true, "description": about, "schema": schema })
}

fn text() -> String {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = SCHEMAS.into();
        settings.meta_schema = None;
    });
    let writer = Writer {
        generator: settings.into_generator(),
        schemas: Map::new(),
        operations: Vec::new(),
    };
    format!("{:#}\n", request::without_formats(writer.document()))
}

/// `/api/v1/openapi.json`
#[allow(clippy::unused_async, reason = "routes are asynchronous")]
pub(super) async fn document() -> Response {
    static TEXT: OnceLock<String> = OnceLock::new();
    json_answer(TEXT.get_or_init(text).clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reference_leads_somewhere() {
        fn references(value: &Value, out: &mut Vec<String>) {
            match value {
                Value::Object(object) => {
                    out.extend(
                        object
                            .get("$ref")
                            .and_then(Value::as_str)
                            .map(str::to_owned),
                    );
                    object.values().for_each(|value| references(value, out));
                }
                Value::Array(values) => values.iter().for_each(|value| references(value, out)),
                _ => {}
            }
        }
        let document: Value = serde_json::from_str(&text()).unwrap();
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(found.len() > 50, "{}", found.len());
        for one in found {
            let place = one.strip_prefix('#').unwrap();
            assert!(document.pointer(place).is_some(), "{one}");
        }
        assert!(
            document["paths"]["/api/v1/runs/{id}/tables/{name}"]["get"]["parameters"]
                .as_array()
                .unwrap()
                .len()
                >= 6
        );
    }
}
