//! What belongs to one call stays with it: warnings, and the identity it acts as.

use crate::kit::{Lab, Visitor, done};
use crate::modules::{apply, config, module, workload};
use crate::wire::ODD;

#[tokio::test(flavor = "multi_thread")]
async fn warnings_of_the_server_reach_the_call_that_caused_them() {
    let lab = Lab::open();
    let runs = (0..12).map(|number| {
        let object = match number % 3 {
            0 => format!("{ODD}{number}"),
            _ => format!("plain-{number}"),
        };
        let name = format!("app-{number}");
        let rendered = module(&name, &[("main", &config(&object, "1"))]);
        let run = lab.apply(apply(rendered, "games"), &Visitor::default());
        (object, run)
    });
    let runs: Vec<_> = runs.collect();
    for (object, run) in runs {
        let warnings = done(run).await.unwrap().warnings;
        match object.starts_with(ODD) {
            true => assert_eq!(warnings, [format!("{object} is odd")]),
            false => assert_eq!(warnings, [""; 0]),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_request_of_a_call_is_sent_as_the_user_it_acts_as_and_no_other() {
    let lab = Lab::open();
    let users = [Some("alice"), Some("bob"), None];
    let runs = (0..9).map(|number: usize| {
        let (user, into) = (users[number % 3], format!("games-{number}"));
        let visitor = user.map_or_else(Visitor::default, Visitor::acting_as);
        let name = format!("app-{number}");
        let rendered = module(&name, &[("main", &(config("a", "1") + &workload("web")))]);
        (
            user,
            into.clone(),
            lab.apply(apply(rendered, &into), &visitor),
        )
    });
    let runs: Vec<_> = runs.collect();
    let mut expected = Vec::new();
    for (user, into, run) in runs {
        done(run).await.unwrap();
        expected.push((user, into));
    }
    let sent = lab.wire.sent();
    for (user, into) in expected {
        let mine: Vec<_> = sent.iter().filter(|sent| sent.is_in(&into)).collect();
        assert!(mine.iter().any(|sent| sent.writes()));
        for sent in mine {
            assert_eq!(sent.act_as.as_deref(), user, "{sent:?}");
        }
    }
}
