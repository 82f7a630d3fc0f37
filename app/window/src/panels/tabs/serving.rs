//! Requests over time, a row each: what waits in the queue, what is prefilled, what is decoded. A click shows the request
//! on the timeline.

use super::prelude::*;
use analysis::reports::host::serving::{ServedRequest, ServingReport};
use analysis::reports::{Serving, ServingPhase};

pub const TAB: Tab = Tab {
    id: "serving",
    title: "Serving",
    reports: Some(&["serving"]),
    icon: "bar 0 0.1 0.6 0.26; bar 0.2 0.42 0.8 0.58; bar 0.4 0.74 1 0.9",
    panel: |_| Box::new(Requests),
    ..TABLES
};

struct Requests;

impl TabPanel for Requests {
    fn ui(&mut self, ui: &mut Ui, mut tab: TabContent<'_>) {
        requests_ui(ui, tab.context, tab.view);
        tab.tables_ui(ui);
    }
}

/// Height of a row at most; many requests have lower ones.
const ROW: f32 = 16.0;
/// Height of a row at least.
const LEAST_ROW: f32 = 4.0;
/// Width of the names.
const NAMES: f32 = 52.0;
/// Height of all rows at most; more requests scroll.
const MOST_HEIGHT: f32 = 320.0;
/// Height of the line with times.
const AXIS: f32 = 16.0;

/// The rows, where annotations have ids of requests.
fn requests_ui(ui: &mut Ui, context: PanelContext<'_>, out: &mut ViewCommands) {
    let Some(report) = context.reports.ready::<Serving>() else {
        return;
    };
    let Some(whole) = report
        .requests
        .iter()
        .map(ServedRequest::range)
        .reduce(TimeRange::hull)
    else {
        return;
    };
    let count = counted(report.requests.len() as u64, "request");
    section_ui(
        ui,
        "Requests over time",
        &format!("{count} in {}", time(whole.dur())),
    );
    legend_ui(ui);
    let row = ((MOST_HEIGHT - AXIS) / report.requests.len().max(1) as f32)
        .clamp(LEAST_ROW, ROW)
        .floor();
    let height = row * report.requests.len() as f32 + AXIS;
    let area = ScrollArea::vertical()
        .id_salt("requests")
        .max_height(MOST_HEIGHT)
        .auto_shrink([false, true]);
    area.show(ui, |ui| {
        let size = vec2(ui.available_width() - 8.0, height);
        let (rect, response) = ui.allocate_exact_size(size, Sense::click());
        response.labeled(Role::Canvas, format_args!("Requests over time: {count}"));
        let place = RequestGrid { rect, row, whole };
        paint(ui, context, report, &place);
        let Some(request) = response.hover_pos().and_then(|pos| place.at(report, pos.y)) else {
            return;
        };
        let clicked = response.clicked();
        response
            .on_hover_cursor(CursorIcon::PointingHand)
            .on_hover_ui_at_pointer(|ui| request_ui(ui, request));
        if clicked {
            out.extend(request.slice.map(ViewCommand::Reveal));
            out.push(ViewCommand::Mark(request.range(), BTreeSet::new()));
            out.push(ViewCommand::ShowAround(request.range()));
        }
    });
}

/// The phases that are drawn, in the order in which they lie above each other.
const DRAWN: [(ServingPhase, &str); 3] = [
    (ServingPhase::Queue, "queue"),
    (ServingPhase::Decode, "decode"),
    (ServingPhase::Prefill, "prefill"),
];

fn color(theme: &Theme, phase: ServingPhase) -> Color32 {
    match phase {
        ServingPhase::Queue => theme.warning,
        ServingPhase::Prefill => theme.accent,
        ServingPhase::Decode => theme.counter,
        ServingPhase::Request | ServingPhase::Batch => theme.edge,
    }
}

fn legend_ui(ui: &mut Ui) {
    ui.horizontal_wrapped(|ui| {
        let theme = theme::current(ui);
        for (phase, name) in [
            DRAWN[0],
            DRAWN[2],
            DRAWN[1],
            (ServingPhase::Request, "neither"),
        ] {
            let (rect, _) = ui.allocate_exact_size(vec2(10.0, 10.0), Sense::hover());
            ui.painter().rect_filled(rect, 2.0, color(theme, phase));
            ui.small(name);
        }
    });
}

/// Where rows and times are.
struct RequestGrid {
    rect: Rect,
    row: f32,
    whole: TimeRange,
}

impl RequestGrid {
    fn at<'a>(&self, report: &'a ServingReport, y: f32) -> Option<&'a ServedRequest> {
        let row = ((y - self.rect.top()) / self.row).floor();
        report
            .requests
            .get(if row < 0.0 { return None } else { row as usize })
    }

    fn x(&self, ps: i64) -> f32 {
        let share =
            ps.saturating_sub(self.whole.start.ps()) as f64 / self.whole.dur().ps().max(1) as f64;
        self.rect.left() + NAMES + (share * f64::from(self.rect.width() - NAMES)) as f32
    }

    fn bar(&self, row: usize, range: TimeRange, inset: f32) -> Rect {
        let y = self.rect.top() + self.row * row as f32;
        let (from, to) = (self.x(range.start.ps()), self.x(range.end.ps()));
        let inset = if self.row > 8.0 { inset } else { 0.5 };
        Rect::from_min_max(
            pos2(from, y + inset),
            pos2(to.max(from + 1.0), y + self.row - inset),
        )
    }
}

fn paint(ui: &Ui, context: PanelContext<'_>, report: &ServingReport, place: &RequestGrid) {
    let (theme, painter, clip) = (theme::current(ui), ui.painter(), ui.clip_rect());
    let every = (11.0 / place.row).ceil().max(1.0) as usize;
    let font = FontId::proportional(if place.row >= 12.0 { 11.0 } else { 10.0 });
    for (row, request) in report.requests.iter().enumerate() {
        let whole = place.bar(row, request.range(), 5.0);
        if whole.bottom() < clip.top() || whole.top() > clip.bottom() {
            continue;
        }
        if row.is_multiple_of(every) {
            let left = pos2(place.rect.left(), whole.center().y);
            elided_name(
                painter,
                left,
                &request.request,
                NAMES - 6.0,
                &font,
                theme.text,
            );
        }
        painter.rect_filled(whole, 0.0, theme.edge);
        for (phase, _) in DRAWN {
            for (_, range) in request
                .spans
                .iter()
                .filter(|(of_span, _)| *of_span == phase)
            {
                painter.rect_filled(place.bar(row, *range, 2.0), 0.0, color(theme, phase));
            }
        }
        if request.slice.is_some() && request.slice == context.state.place.selection {
            painter.rect_stroke(
                whole.expand(3.0),
                2.0,
                (1.5, theme.selection),
                StrokeKind::Outside,
            );
        }
    }
    let bottom = place.rect.bottom() - AXIS / 2.0;
    let font = FontId::proportional(10.0);
    let left = pos2(place.rect.left() + NAMES, bottom);
    painter.text(
        left,
        Align2::LEFT_CENTER,
        time(Picos::ZERO),
        font.clone(),
        theme.text_weak,
    );
    let right = pos2(place.rect.right(), bottom);
    painter.text(
        right,
        Align2::RIGHT_CENTER,
        time(place.whole.dur()),
        font,
        theme.text_weak,
    );
}

fn request_ui(ui: &mut Ui, request: &ServedRequest) {
    ui.strong(format!("Request {}", request.request));
    let known = [
        ("queue", request.queue_ps),
        ("prefill", request.prefill_ps),
        ("time to first token", request.first_token_ps),
        ("decode", request.decode_ps),
        (
            "of it prefills of others",
            request
                .prefill_stall_ps
                .filter(|&stall| stall > Picos::ZERO),
        ),
        ("latency", request.latency_ps),
    ];
    for (name, ps) in known.into_iter().filter_map(|(name, ps)| Some((name, ps?))) {
        ui.label(format!("{name}: {}", time(ps)));
    }
    if let Some(tokens) = request.decode_tokens {
        ui.label(format!("{} after the first", counted(tokens, "token")));
    }
    ui.weak("By the annotations of the server, on the clock of the host. Click to show it on the timeline.");
}
