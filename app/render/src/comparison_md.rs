//! What to read first of a comparison, as Markdown.

use analysis::compare::{Comparison, WHY_ROWS};

use crate::markdown;
use view::words::sentence;

/// What to read first of a comparison as Markdown, in full, without the table, and as one sentence.
pub fn blocks(comparison: &Comparison) -> Vec<String> {
    let brief = &comparison.brief;
    let bold = |said: &str| format!("**{}**", markdown::escaped(&sentence(said)));
    let plain = |said: &str| markdown::escaped(&sentence(said));
    let line = |texts: [Option<String>; 3]| {
        let texts: Vec<String> = texts.into_iter().flatten().collect();
        markdown::block(&texts.join(" "))
    };
    let only = markdown::block(&bold(&comparison.statement));
    if comparison.prediction.is_some() {
        return vec![only.clone(), only];
    }
    let differ = brief.differ.as_deref().map(plain);
    let step = brief.step.as_deref().map(bold);
    let head = line([Some(bold(&brief.work)), differ, None])
        + &line([step, brief.of_loop.as_deref().map(plain), None]);
    let look = brief.look_first.as_ref();
    let end = line([
        brief.conclusion.as_deref().map(bold),
        look.map(|what| plain(&format!("look first at {what}"))),
        brief.record_next.as_deref().map(plain),
    ]);
    let attribution = comparison.attribution.as_ref();
    let table = attribution
        .filter(|_| brief.conclusion.is_some())
        .map(|one| {
            let table = one.why_table(WHY_ROWS);
            markdown::block(&markdown::body(&table, 0))
        });
    let table = table.unwrap_or_default();
    vec![format!("{head}{table}{end}"), format!("{head}{end}"), only]
}
