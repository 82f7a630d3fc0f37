//! Places of labels in a plot, of which none covers another one.

use super::{Anchor, DrawingPoint, PlotArea, width_of};

/// Left, top, right and bottom.
type LabelArea = [f32; 4];

/// What labels may not cover.
pub struct LabelPlaces {
    bounds: LabelArea,
    font: f32,
    taken: Vec<LabelArea>,
    /// Lines from left to right, which labels cover only where there is no other place.
    lines: Vec<[DrawingPoint; 2]>,
}

impl LabelPlaces {
    /// Labels in a plot, beside its `lines`.
    pub fn new(area: &PlotArea, lines: Vec<[DrawingPoint; 2]>) -> Self {
        Self {
            bounds: [area.left, area.top, area.right(), area.bottom()],
            font: area.font,
            taken: Vec::new(),
            lines,
        }
    }

    /// Keeps a circle free.
    pub fn keep_free(&mut self, (x, y): DrawingPoint, r: f32) {
        self.taken.push([x - r, y - r, x + r, y + r]);
    }

    /// The first of `places` where a text is inside, covers nothing and, if possible, no line. A place is a point at the
    /// middle of the height of the text.
    pub fn find(
        &mut self,
        text: &str,
        places: impl IntoIterator<Item = (DrawingPoint, Anchor)>,
    ) -> Option<(DrawingPoint, Anchor)> {
        self.find_place(text, places, false)
    }

    /// Like [`Self::find`], but never on a line: the name of a line on another one would be read as that of the other.
    pub fn find_clear(
        &mut self,
        text: &str,
        places: impl IntoIterator<Item = (DrawingPoint, Anchor)>,
    ) -> Option<(DrawingPoint, Anchor)> {
        self.find_place(text, places, true)
    }

    fn find_place(
        &mut self,
        text: &str,
        places: impl IntoIterator<Item = (DrawingPoint, Anchor)>,
        must_be_clear: bool,
    ) -> Option<(DrawingPoint, Anchor)> {
        // Wider than the mean of all letters: short names are often capitals.
        let (width, half) = (width_of(text, self.font) + self.font, self.font * 0.7);
        let area = |(x, y): DrawingPoint, anchor| {
            let left = match anchor {
                Anchor::Start => x,
                Anchor::Middle => x - width / 2.0,
                Anchor::End => x - width,
            };
            [left, y - half, left + width, y + half]
        };
        let is_free = |candidate: &LabelArea| {
            let is_inside = candidate[0] >= self.bounds[0]
                && candidate[1] >= self.bounds[1]
                && candidate[2] <= self.bounds[2]
                && candidate[3] <= self.bounds[3];
            let is_beside = |other: &LabelArea| {
                candidate[2] <= other[0]
                    || other[2] <= candidate[0]
                    || candidate[3] <= other[1]
                    || other[3] <= candidate[1]
            };
            is_inside && self.taken.iter().all(is_beside)
        };
        let free: Vec<_> = places
            .into_iter()
            .map(|(position, anchor)| (position, anchor, area(position, anchor)))
            .filter(|(.., candidate)| is_free(candidate))
            .collect();
        let is_clear = |candidate| !self.lines.iter().any(|line| crosses(line, candidate));
        let clear = free.iter().find(|(.., candidate)| is_clear(candidate));
        let otherwise = free.first().filter(|_| !must_be_clear);
        let &(position, anchor, candidate) = clear.or(otherwise)?;
        self.taken.push(candidate);
        Some((position, anchor))
    }
}

/// Places around a circle.
pub fn around((x, y): DrawingPoint, r: f32, font: f32) -> [(DrawingPoint, Anchor); 6] {
    let (beside, beyond) = (r + 4.0, r + 0.8 * font);
    [
        ((x + beside, y), Anchor::Start),
        ((x - beside, y), Anchor::End),
        ((x, y - beyond), Anchor::Start),
        ((x, y + beyond), Anchor::Start),
        ((x, y - beyond), Anchor::End),
        ((x, y + beyond), Anchor::End),
    ]
}

/// Whether a line runs through an area.
fn crosses([from, to]: &[DrawingPoint; 2], area: &LabelArea) -> bool {
    let (start, end) = (area[0].max(from.0), area[2].min(to.0));
    let y_at =
        |x: f32| from.1 + (x - from.0) * (to.1 - from.1) / (to.0 - from.0).max(f32::MIN_POSITIVE);
    let (start_y, end_y) = (y_at(start), y_at(end));
    start < end && start_y.min(end_y) < area[3] && area[1] < start_y.max(end_y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawing::PlotRange;

    fn places(lines: Vec<[DrawingPoint; 2]>) -> LabelPlaces {
        let area = PlotArea {
            left: 0.0,
            top: 0.0,
            width: 400.0,
            height: 200.0,
            range: PlotRange {
                x: (0.0, 1.0),
                y: (0.0, 1.0),
            },
            font: 10.0,
        };
        LabelPlaces::new(&area, lines)
    }

    #[test]
    fn labels_overlap_neither_each_other_nor_the_margins() {
        let mut places = places(Vec::new());
        let at = |x: f32, y: f32| around((x, y), 0.0, 10.0);
        let own = |place: Option<(DrawingPoint, Anchor)>| place.map(|(_, anchor)| anchor);
        assert_eq!(
            own(places.find("first", at(200.0, 100.0))),
            Some(Anchor::Start)
        );
        // To the left, because the first one is in the way.
        assert_eq!(
            own(places.find("second", at(201.0, 101.0))),
            Some(Anchor::End)
        );
        assert_eq!(
            own(places.find("third", at(388.0, 100.0))),
            Some(Anchor::End)
        );
        assert_eq!(places.find(&"long".repeat(50), at(200.0, 50.0)), None);
        places.keep_free((100.0, 50.0), 20.0);
        assert_eq!(
            places.find("covered", [((100.0, 50.0), Anchor::Middle)]),
            None
        );
    }

    #[test]
    fn labels_avoid_lines_if_there_is_another_place() {
        let line = [(0.0, 100.0), (400.0, 0.0)];
        let (on, beside) = (
            ((200.0, 50.0), Anchor::Middle),
            ((300.0, 100.0), Anchor::End),
        );
        assert_eq!(places(vec![line]).find("name", [on, beside]), Some(beside));
        assert_eq!(places(vec![line]).find("name", [on]), Some(on));
        assert_eq!(places(vec![line]).find_clear("name", [on]), None);
        let clear = places(vec![line]).find_clear("name", [on, beside]);
        assert_eq!(clear, Some(beside));
        assert_eq!(places(Vec::new()).find("name", [on, beside]), Some(on));
        assert!(!crosses(&line, &[0.0, 0.0, 100.0, 70.0]));
        assert!(crosses(&line, &[0.0, 0.0, 110.0, 80.0]));
    }
}
