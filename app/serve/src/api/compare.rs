//! Two runs: what `systole compare` writes.

use super::prelude::*;

use crate::error::json;
use request::{CompareRequest, answers, checks, notes_of_side};
use session::Session;

/// Which runs, and which part of them.
#[derive(Deserialize, JsonSchema)]
pub(super) struct CompareParams {
    /// Id of the run to compare with.
    base: String,
    /// Id of the new run.
    new: String,
    #[serde(flatten)]
    test: CompareRequest,
    #[serde(flatten)]
    about: AboutParams,
}

pub(super) async fn two(
    State(state): State<Shared>,
    Params(params): Params<CompareParams>,
) -> Result<Response, ApiError> {
    let CompareParams {
        base,
        new,
        test,
        about: AboutParams { part, values },
    } = params;
    let base = state.session(base, values.clone()).await?;
    let new = state.session(new, values.clone()).await?;
    let shared = (Session::clone(&base), Session::clone(&new));
    let text = state.heavy(move |_| {
        let (base, new) = shared;
        let scopes = (
            checks::check_part(&base, &part)?,
            checks::check_part(&new, &part)?,
        );
        let notes = notes_of_side("base", &base, &values);
        let notes = notes.chain(notes_of_side("new", &new, &values)).collect();
        Ok(answers::compared((&base, scopes.0), (&new, scopes.1), &test, notes)?.json)
    });
    // If the client goes away, this ends here and drops the sessions.
    let text = text.await;
    drop((base, new));
    Ok(json(text?))
}
