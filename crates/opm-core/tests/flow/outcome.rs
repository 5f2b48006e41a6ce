//! The table of outcomes: the first match decides.

use opm_core::check::RefusalKind;
use opm_core::protocol::{Facts, Outcome};

#[test]
fn the_first_match_decides() {
    let none = Facts::default();
    let all = Facts {
        interrupted: true,
        locked: true,
        refused: Some(RefusalKind::Refused),
        not_found: true,
        failed: true,
        went_back: true,
        delete_incomplete: true,
        unpruned: true,
        not_ready: true,
    };
    let table = [
        (none, 0),
        (all, 130),
        (
            Facts {
                interrupted: false,
                ..all
            },
            7,
        ),
        (
            Facts {
                interrupted: false,
                locked: false,
                not_found: false,
                ..all
            },
            2,
        ),
        (
            Facts {
                refused: Some(RefusalKind::Forbidden),
                ..none
            },
            4,
        ),
        (
            Facts {
                refused: Some(RefusalKind::Unreachable),
                ..none
            },
            3,
        ),
        (
            Facts {
                refused: Some(RefusalKind::Refused),
                ..none
            },
            2,
        ),
        (
            Facts {
                not_found: true,
                ..none
            },
            5,
        ),
        (
            Facts {
                failed: true,
                unpruned: true,
                ..none
            },
            1,
        ),
        (
            Facts {
                went_back: true,
                not_ready: true,
                ..none
            },
            1,
        ),
        (
            Facts {
                delete_incomplete: true,
                ..none
            },
            1,
        ),
        (
            Facts {
                unpruned: true,
                ..none
            },
            8,
        ),
        (
            Facts {
                not_ready: true,
                ..none
            },
            8,
        ),
    ];
    for (facts, code) in table {
        assert_eq!(Outcome::of(&facts).exit_code(), code, "{facts:?}");
    }
}
