//! Plots of time against the number of objects, as SVG that is readable on light and dark pages.

use std::fmt::Write as _;

use super::clients::Client;
use super::matrix::{Action, Shape, thousands};
use super::results::Results;

/// The actions that are plotted.
pub(super) const ACTIONS: [Action; 4] = [
    Action::Install,
    Action::Unchanged,
    Action::Status,
    Action::Delete,
];

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 84.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 48.0;

/// The file of an action's plot.
pub(super) fn file(action: Action) -> &'static str {
    match action {
        Action::Unchanged => "re-apply.svg",
        Action::Status => "status.svg",
        Action::Delete => "delete.svg",
        _ => "install.svg",
    }
}

/// All plots: file name and content.
pub(super) fn all(results: &Results) -> Vec<(&'static str, String)> {
    ACTIONS
        .map(|action| (file(action), plot(action, &lines(results, action))))
        .to_vec()
}

/// Points of one client, by number of objects.
type Line = (Client, Vec<(f64, f64)>);

fn lines(results: &Results, action: Action) -> Vec<Line> {
    let points = |client: Client| {
        let near = results.cells.iter().filter(|one| one.cell.delay == 0);
        let point = |one: &super::results::CellResults| match one.cell.shape {
            Shape::ConfigMaps(n) => Some((n as f64, one.median(client, action)?.seconds)),
            _ => None,
        };
        let mut points: Vec<(f64, f64)> = near.filter_map(point).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        (client, points)
    };
    let lines = Client::ALL.map(points).into_iter();
    lines.filter(|(_, points)| !points.is_empty()).collect()
}

/// A logarithmic axis over whole decades.
struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    fn over(values: impl Iterator<Item = f64>, from: f64, to: f64) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| *value > 0.0) {
            low = low.min(value.log10().floor());
            high = high.max(value.log10().ceil());
        }
        if low >= high {
            (low, high) = (0.0, 1.0);
        }
        Self {
            low,
            high,
            from,
            to,
        }
    }

    fn at(&self, value: f64) -> f64 {
        let share = (value.log10() - self.low) / (self.high - self.low);
        self.from + share * (self.to - self.from)
    }

    fn decades(&self) -> impl Iterator<Item = f64> {
        (self.low as i32..=self.high as i32).map(|power| 10_f64.powi(power))
    }
}

fn plot(action: Action, lines: &[Line]) -> String {
    let points = || lines.iter().flat_map(|(_, points)| points.iter());
    let x = Axis::over(points().map(|point| point.0), LEFT, WIDTH - RIGHT);
    let y = Axis::over(points().map(|point| point.1), HEIGHT - BOTTOM, TOP);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"#ffffff\"/>\n\
         <text x=\"{LEFT}\" y=\"22\" font-size=\"14\" font-weight=\"bold\" fill=\"#1f2328\">{}: seconds against ConfigMaps</text>\n",
        action.title(),
    );
    for value in x.decades() {
        let at = x.at(value);
        let _ = writeln!(
            svg,
            "<line x1=\"{at:.1}\" y1=\"{TOP}\" x2=\"{at:.1}\" y2=\"{:.1}\" stroke=\"#d8dee4\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#59636e\">{}</text>",
            HEIGHT - BOTTOM,
            HEIGHT - BOTTOM + 18.0,
            thousands(value as usize),
        );
    }
    for value in y.decades() {
        let at = y.at(value);
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\" stroke=\"#d8dee4\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#59636e\">{value} s</text>",
            WIDTH - RIGHT,
            LEFT - 8.0,
            at + 4.0,
        );
    }
    let mut taken: Vec<f64> = Vec::new();
    for (client, points) in lines {
        draw(&mut svg, *client, points, &x, &y, &mut taken);
    }
    svg + "</svg>\n"
}

/// One client: a line, its points, and its name at the end, moved away from other names.
fn draw(
    svg: &mut String,
    client: Client,
    points: &[(f64, f64)],
    x: &Axis,
    y: &Axis,
    taken: &mut Vec<f64>,
) {
    let (color, width) = match client {
        Client::Opm => ("#0969da", 3.0),
        Client::Floor => ("#8c959f", 1.5),
        Client::Kapp => ("#bf8700", 1.5),
        Client::Helm => ("#cf222e", 1.5),
        Client::Kubectl => ("#8250df", 1.5),
        Client::OpmFixed => ("#54aeff", 1.5),
        Client::FloorHttp2 => ("#1a7f37", 1.5),
    };
    let place = |point: &(f64, f64)| format!("{:.1},{:.1}", x.at(point.0), y.at(point.1));
    let path: Vec<String> = points.iter().map(place).collect();
    let _ = writeln!(
        svg,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{width}\"/>",
        path.join(" "),
    );
    for point in points {
        let (cx, cy) = (x.at(point.0), y.at(point.1));
        let _ = writeln!(
            svg,
            "<circle cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"{}\" fill=\"{color}\"/>",
            width + 1.0
        );
    }
    let Some(last) = points.last() else { return };
    let mut at = y.at(last.1) + 4.0;
    while taken.iter().any(|other| (other - at).abs() < 13.0) {
        at += 13.0;
    }
    taken.push(at);
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{at:.1}\" fill=\"{color}\" font-weight=\"bold\">{}</text>",
        x.at(last.0) + 10.0,
        client.title(),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_has_a_line_and_a_name_of_its_own() {
        let lines = [
            (Client::Opm, vec![(10.0, 0.05), (500.0, 0.7)]),
            (Client::Helm, vec![(10.0, 0.2), (500.0, 0.7)]),
        ];
        let svg = plot(Action::Install, &lines);
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert_eq!(svg.matches("<circle").count(), 4);
        let names: Vec<&str> = svg
            .lines()
            .filter(|line| line.contains("font-weight=\"bold\">"))
            .collect();
        let heights: Vec<&str> = names
            .iter()
            .filter_map(|name| name.split("y=\"").nth(1)?.split('"').next())
            .collect();
        assert_eq!(heights.len(), 2, "{names:?}");
        assert_ne!(heights[0], heights[1], "{names:?}");
    }
}
