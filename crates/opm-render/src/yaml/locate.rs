//! Where in a text something stands: the line and column of a field, found by reading it again.

use granit_parser::{Event, Parser};

use super::Position;

/// The place of a field in the document that begins at a line, or of what is nearest above it.
pub(crate) fn field(text: &str, line: u64, path: &[String]) -> Option<Position> {
    search(text, Some(line), path).map(|(_, at)| at)
}

/// The place of a field in a text's first document; nothing if it is not there, or an alias stands
/// for it.
pub(crate) fn field_itself(text: &str, path: &[String]) -> Option<Position> {
    let found = search(text, None, path)?;
    (found.0 == path.len()).then_some(found.1)
}

/// The place of a field, or of what is nearest above it, and how many steps lead there.
fn search(text: &str, line: Option<u64>, path: &[String]) -> Option<(usize, Position)> {
    let mut search = FieldSearch {
        path,
        line,
        open: Vec::new(),
        is_inside: false,
        best: None,
    };
    for next in Parser::new_from_str(text) {
        let (event, span) = next.ok()?;
        let at = Position {
            line: span.start.line() as u64,
            column: span.start.col() as u64 + 1,
        };
        if search.take(&event, at) {
            break;
        }
    }
    search.best
}

/// The place of a scalar that begins with a text; the last one if there are several.
pub(crate) fn scalar(text: &str, wanted: &str) -> Option<Position> {
    let events = Parser::new_from_str(text).map_while(Result::ok);
    // Messages cut what is very long.
    let cut = wanted.strip_suffix('…');
    let same = events.filter(|(event, _)| match event.scalar() {
        Some((found, _)) => found == wanted || cut.is_some_and(|start| found.starts_with(start)),
        None => false,
    });
    let (_, span) = same.last()?;
    Some(Position {
        line: span.start.line() as u64,
        column: span.start.col() as u64 + 1,
    })
}

struct FieldSearch<'a> {
    path: &'a [String],
    /// Where the document begins; the first if none.
    line: Option<u64>,
    open: Vec<OpenNode>,
    is_inside: bool,
    /// How many steps of the path lead to the place.
    best: Option<(usize, Position)>,
}

/// A mapping with the key that waits for its value, or a list with the number of the next item.
enum OpenNode {
    Mapping(Option<String>),
    List(usize),
}

impl FieldSearch<'_> {
    /// Takes the next event, and says whether the document is at its end.
    fn take(&mut self, event: &Event<'_>, at: Position) -> bool {
        match event {
            Event::SequenceEnd | Event::MappingEnd => {
                self.open.pop();
                self.after_value();
            }
            _ if !event.is_node() => {}
            _ => {
                if self.open.is_empty() {
                    self.is_inside = self.line.is_none_or(|line| line == at.line);
                }
                self.node(event, at);
            }
        }
        self.is_inside && self.open.is_empty()
    }

    fn node(&mut self, event: &Event<'_>, at: Position) {
        if let Some(OpenNode::Mapping(key @ None)) = self.open.last_mut() {
            *key = event.scalar().map(|(text, _)| text.to_string());
            self.consider(at);
            return;
        }
        if !matches!(self.open.last(), Some(OpenNode::Mapping(_))) {
            self.consider(at);
        }
        match event {
            Event::MappingStart(..) => self.open.push(OpenNode::Mapping(None)),
            Event::SequenceStart(..) => self.open.push(OpenNode::List(0)),
            _ => self.after_value(),
        }
    }

    /// A value is complete.
    fn after_value(&mut self) {
        match self.open.last_mut() {
            Some(OpenNode::Mapping(key)) => *key = None,
            Some(OpenNode::List(next)) => *next += 1,
            None => {}
        }
    }

    /// Takes the place if the way to it is a longer part of the path than what was found.
    fn consider(&mut self, at: Position) {
        let depth = self.open.len();
        if !self.is_inside || depth > self.path.len() {
            return;
        }
        let same = |(node, step): (&OpenNode, &String)| match node {
            OpenNode::Mapping(key) => key.as_ref() == Some(step),
            OpenNode::List(next) => next.to_string() == *step,
        };
        let is_on_the_way = self.open.iter().zip(self.path).all(same);
        if is_on_the_way && self.best.is_none_or(|(found, _)| depth > found) {
            self.best = Some((depth, at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# a comment\na: 1\n---\nkind: List\nitems:\n- name: one\n  ports:\n    - port: 1\n    - {port: 2, name: x}\n- name: two\n";

    #[test]
    fn fields_and_what_is_missing_have_places() {
        let found = |line, path: &[&str]| {
            let path: Vec<String> = path.iter().map(ToString::to_string).collect();
            field(TEXT, line, &path).map(|at| (at.line, at.column))
        };
        for (line, path, expected) in [
            (2, &["a"][..], Some((2, 1))),
            (2, &[], Some((2, 1))),
            (4, &["kind"], Some((4, 1))),
            (4, &["items", "0", "ports", "1", "name"], Some((9, 17))),
            (4, &["items", "0", "ports", "1", "protocol"], Some((9, 7))),
            (4, &["items", "1"], Some((10, 3))),
            (4, &["nothing"], Some((4, 1))),
            (77, &["a"], None),
        ] {
            assert_eq!(found(line, path), expected, "{line} {path:?}");
        }
        assert_eq!(
            scalar(TEXT, "two").map(|at| (at.line, at.column)),
            Some((10, 9))
        );
        assert_eq!(scalar(TEXT, "three"), None);
    }

    #[test]
    fn fields_that_are_there_have_places() {
        let text = "# c\na: 1\nb:\n  c: [x, {d: 2}]\n  e:\n    - f: 1\n      g: 2\nh: 3\n";
        for (path, expected) in [
            (&["a"][..], Some((2, 1))),
            (&["b", "c"], Some((4, 3))),
            (&["b", "c", "0"], Some((4, 7))),
            (&["b", "c", "1", "d"], Some((4, 11))),
            (&["b", "e", "0", "g"], Some((7, 7))),
            (&["h"], Some((8, 1))),
            (&["b", "x"], None),
            (&["c"], None),
        ] {
            let path: Vec<String> = path.iter().map(|step| (*step).to_owned()).collect();
            let found = field_itself(text, &path).map(|at| (at.line, at.column));
            assert_eq!(found, expected, "{path:?}");
        }
    }
}
