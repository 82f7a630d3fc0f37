//! What most answers name: `use super::prelude::*`.

pub(super) use axum::Json;
pub(super) use axum::extract::State;
pub(super) use axum::http::header;
pub(super) use axum::response::{IntoResponse as _, Response};
pub(super) use schemars::JsonSchema;
pub(super) use serde::{Deserialize, Serialize};

pub(super) use crate::error::ApiError;
pub(super) use crate::input::{InPath, Params, check_number};
pub(super) use crate::state::{AboutParams, Shared};
