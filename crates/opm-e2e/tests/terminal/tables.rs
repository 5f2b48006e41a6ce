//! Tables fit the terminal; in a pipe and with `-o wide` they are whole.

use opm_e2e::objects::config_map;
use opm_e2e::{Module, World, scenarios};

scenarios! {
    every_table_fits_and_none_is_cut_in_a_pipe,
    states_have_colours_unless_they_are_not_wanted,
}

const LONG: &str = "a-config-map-whose-name-is-rather-long-and-still-allowed";

fn web() -> Module {
    Module::new("web").component("a-component-with-a-long-name", &[config_map(LONG, "1")])
}

async fn every_table_fits_and_none_is_cut_in_a_pipe(w: World) {
    w.apply(&web(), &["-m", "a message of some length, which says why"])
        .await
        .ok();
    let commands: [&[&str]; 6] = [
        &["mod", "status", "web"],
        &["mod", "list"],
        &["mod", "history", "web"],
        &["mod", "history", "web", "--log"],
        &["feature", "list"],
        &["config", "view"],
    ];
    for command in commands {
        let command = [command, &["-n", &w.ns]].concat();
        for columns in [60, 80, 140] {
            let end = w.on_terminal(columns, &command).end().await;
            assert_eq!(end.code, Some(0), "{}", end.text);
            let lines = end
                .text
                .lines()
                .filter(|line| !line.contains("in namespace"));
            let header = lines
                .clone()
                .find(|line| line.starts_with(char::is_uppercase) || line.starts_with('#'));
            assert!(header.is_some(), "{command:?}: {}", end.text);
            if command[1] != "view" {
                let too_long = end
                    .too_long
                    .iter()
                    .filter(|line| !line.contains("in namespace"));
                assert_eq!(
                    too_long.count(),
                    0,
                    "{command:?} at {columns}: {:?}",
                    end.too_long
                );
            }
        }
    }
    for piped in [
        w.opm(&["mod", "status", "web"]).await.ok(),
        w.opm(&["mod", "status", "web", "-o", "wide"]).await.ok(),
    ] {
        assert!(piped.stdout().contains(LONG), "{piped}");
        assert!(!piped.stdout().contains('…'), "{piped}");
    }
    let wide = ["mod", "status", "web", "-n", &w.ns, "-o", "wide"];
    let end = w.on_terminal(60, &wide).end().await;
    assert!(end.raw.contains(LONG), "{}", end.text);
}

async fn states_have_colours_unless_they_are_not_wanted(w: World) {
    w.apply(&web(), &[]).await.ok();
    let arguments = ["mod", "status", "web", "-n", &w.ns];
    let plain = w.on_terminal(80, &arguments).end().await;
    assert!(!plain.raw.contains("\x1b[32m"), "NO_COLOR: {:?}", plain.raw);
    let coloured = [&arguments[..], &["--color", "always"]].concat();
    let end = w.on_terminal(80, &coloured).end().await;
    assert!(end.raw.contains("\x1b[32mReady"), "{:?}", end.raw);
    let never = [&arguments[..], &["--color", "never"]].concat();
    let end = w
        .on_terminal_with(&[("NO_COLOR", "")], 80, &never)
        .end()
        .await;
    assert!(!end.raw.contains("\x1b[32m"), "{:?}", end.raw);
}
