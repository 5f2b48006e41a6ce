//! The relay, for trying faults by hand.

use std::env;
use std::path::PathBuf;
use std::time::Duration;

use opm_testkit::relay::{Relay, RuleText, TcpRelay};
use opm_testkit::tally;

use crate::{Outcome, block_on};

/// Stands between opm and an API server, and brings delay and faults
///
/// Point a program at the kubeconfig that it writes. Every request is printed; Ctrl-C ends the
/// relay and prints how many there were of each kind.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The cluster to relay to [default: the first file of KUBECONFIG]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// Where to write the kubeconfig that leads to the relay
    #[arg(long, value_name = "FILE", default_value = "relay.kubeconfig")]
    out: PathBuf,

    /// Delay for a round trip, in milliseconds, half of it each way
    #[arg(long, value_name = "MS", default_value_t = 0)]
    delay: u64,

    /// Relay bytes only: no counting and no rules, and TLS goes through untouched
    #[arg(long, conflicts_with_all = ["rules", "pid"])]
    tcp: bool,

    /// A fault, as in `verb=patch,path=/secrets/,nth=2,times=1,fault=429`; repeatable
    ///
    /// All parts but the fault may be left out. Faults: 403, 409, 429, 500, 500-without-reason,
    /// 503, reset, reset-after, stall, stall-after, kill, kill-after.
    #[arg(long = "rule", value_name = "RULE")]
    rules: Vec<RuleText>,

    /// The process that `kill` kills
    #[arg(long)]
    pid: Option<u32>,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let kubeconfig = args.kubeconfig.clone().or_else(|| {
        env::split_paths(&env::var_os("KUBECONFIG")?).find(|path| !path.as_os_str().is_empty())
    });
    let kubeconfig = kubeconfig.ok_or("no cluster: give --kubeconfig or set KUBECONFIG")?;
    let delay = Duration::from_millis(args.delay);
    // The delay lies between the relay that sees requests and the cluster.
    let scratch = tempfile::tempdir()?;
    let tcp = TcpRelay::start(&kubeconfig, delay)?;
    if args.tcp {
        tcp.write_kubeconfig(&args.out)?;
        println!("{}", args.out.display());
        return Ok(block_on(tokio::signal::ctrl_c())??);
    }
    let behind = tcp.write_kubeconfig(&scratch.path().join("kubeconfig"))?;
    block_on(relay(args, &behind))?
}

async fn relay(args: &Args, kubeconfig: &std::path::Path) -> Outcome {
    let relay = Relay::start(kubeconfig).await?;
    for rule in &args.rules {
        relay.on(rule.when.clone(), rule.fault.clone());
    }
    if let Some(pid) = args.pid {
        relay.aim_at(pid);
    }
    relay.write_kubeconfig(&args.out)?;
    println!("{}", args.out.display());
    let mut shown = 0;
    let printing = async {
        loop {
            for one in relay.requests().iter().skip(shown) {
                shown += 1;
                eprintln!("{shown:>5} {} {}", one.verb, one.uri);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::select! {
        () = printing => {}
        _ = tokio::signal::ctrl_c() => {}
    }
    for (what, count) in tally(&relay.requests()) {
        eprintln!("{count:>5} {what}");
    }
    Ok(())
}
