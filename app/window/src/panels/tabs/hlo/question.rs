//! Questions about programs, answered in the background, and their answers.

use crate::prelude::*;
use analysis::reports::hlo::{
    FoundInstructions, HloNode, HloQuery, Neighbourhood, NodeRelation, ProgramDiff, ProgramList,
    ProgramListing, Reach, chosen, find, listing, neighbourhood, programs,
};
use analysis::{AnalysisError, Tabular as _};

use super::diff;
use view::panels::hlo_graph::HloGraph;

/// Instructions drawn at most.
const MOST_BOXES: usize = 80;

/// A request about programs.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum HloQuestion {
    Programs(Scope),
    Around(Scope, ProgramId, String, u32),
    Text(Scope, ProgramId),
    Found(Scope, String),
    Diff(Scope, ProgramId, TraceSide, PathBuf),
}

pub(super) enum HloTabAnswer {
    Programs(ProgramList),
    Around(Box<AroundOp>),
    Text(ProgramListing),
    Found(FoundInstructions, Table),
    Diff(Box<ProgramDiff>, Table),
}

/// A neighbourhood with its layout.
pub(super) struct AroundOp {
    pub(super) found: Neighbourhood,
    pub(super) around: HloGraph,
    pub(super) inside: HloGraph,
}

impl HloQuestion {
    pub(super) fn answer(
        self,
        session: &Session,
        other: Option<&Session>,
    ) -> Result<HloTabAnswer, String> {
        let message = |error: AnalysisError| error.to_string();
        Ok(match self {
            Self::Programs(scope) => HloTabAnswer::Programs(programs(&session.context(scope))),
            Self::Around(scope, program, name, radius) => {
                let reach = Reach {
                    radius,
                    most: MOST_BOXES,
                };
                let neighbourhood = neighbourhood(&session.context(scope), program, &name, reach)
                    .map_err(message)?;
                let is_inside = |node: &HloNode| node.relation == NodeRelation::Inside;
                let around = HloGraph::of(&neighbourhood, |node| !is_inside(node));
                let inside = HloGraph::of(&neighbourhood, is_inside);
                HloTabAnswer::Around(Box::new(AroundOp {
                    found: neighbourhood,
                    around,
                    inside,
                }))
            }
            Self::Text(scope, program) => {
                HloTabAnswer::Text(listing(&session.context(scope), program).map_err(message)?)
            }
            Self::Diff(scope, program, side, _) => {
                let other = other.ok_or("only one run is open")?;
                let (compared, table) = diff::diff_of((session, other), scope, program, side)?;
                HloTabAnswer::Diff(Box::new(compared), table)
            }
            Self::Found(scope, words) => {
                let cx = session.context(scope);
                let instructions = find(
                    &cx,
                    &chosen(&cx, None).map_err(message)?,
                    &HloQuery::parse(&words),
                );
                let table = instructions
                    .tables()
                    .into_iter()
                    .next()
                    .ok_or("nothing was found")?;
                HloTabAnswer::Found(instructions, table)
            }
        })
    }
}
