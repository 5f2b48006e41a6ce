//! Which proxy leads to the cluster.
//!
//! A proxy that the kubeconfig names always counts. One from the environment does not where
//! `NO_PROXY` names the cluster's host, nor for this machine itself. (`kube` compares `NO_PROXY`
//! with the proxy's own address.)

use std::net::IpAddr;

use http::Uri;

/// The proxy to use for a cluster.
pub(crate) fn choose(
    configured: Option<&str>,
    environment: Option<&str>,
    no_proxy: Option<&str>,
    cluster: &Uri,
) -> Result<Option<Uri>, String> {
    let host = cluster.host().unwrap_or_default();
    let proxy = match (configured, environment) {
        (Some(proxy), _) => proxy,
        (None, Some(proxy)) if !is_excepted(host, no_proxy.unwrap_or_default()) => proxy,
        _ => return Ok(None),
    };
    // Credentials in it stay out of the message.
    let unreadable = || "the proxy's address is not a URL".to_owned();
    let uri: Uri = proxy.parse().map_err(|_| unreadable())?;
    match uri.scheme_str() {
        Some("http" | "https" | "socks5") => Ok(Some(uri)),
        // `HTTPS_PROXY=proxy:3128` means HTTP.
        _ => format!("http://{proxy}")
            .parse()
            .map(Some)
            .map_err(|_| unreadable()),
    }
}

fn is_excepted(host: &str, no_proxy: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let address: Option<IpAddr> = host.parse().ok();
    if host == "localhost" || address.is_some_and(|address| address.is_loopback()) {
        return true;
    }
    no_proxy
        .split(',')
        .map(str::trim)
        .filter(|rule| !rule.is_empty())
        .any(|rule| matches(host, address, rule))
}

fn matches(host: &str, address: Option<IpAddr>, rule: &str) -> bool {
    if rule == "*" {
        return true;
    }
    if let Some(address) = address {
        return match rule.split_once('/') {
            Some((net, bits)) => in_network(address, net, bits),
            None => rule.parse() == Ok(address),
        };
    }
    let rule = rule.trim_start_matches("*.").trim_start_matches('.');
    host.eq_ignore_ascii_case(rule)
        || host
            .to_ascii_lowercase()
            .ends_with(&format!(".{}", rule.to_ascii_lowercase()))
}

fn in_network(address: IpAddr, net: &str, bits: &str) -> bool {
    let (Ok(net), Ok(bits)) = (net.parse::<IpAddr>(), bits.parse::<u32>()) else {
        return false;
    };
    match (address, net) {
        (IpAddr::V4(address), IpAddr::V4(net)) if bits <= 32 => {
            let mask = u32::MAX
                .checked_shl(32_u32.saturating_sub(bits))
                .unwrap_or(0);
            u32::from(address) & mask == u32::from(net) & mask
        }
        (IpAddr::V6(address), IpAddr::V6(net)) if bits <= 128 => {
            let mask = u128::MAX
                .checked_shl(128_u32.saturating_sub(bits))
                .unwrap_or(0);
            u128::from(address) & mask == u128::from(net) & mask
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_proxy_counts() {
        let env = Some("http://proxy:3128");
        for (configured, environment, no_proxy, cluster, expected) in [
            (None, None, None, "https://k8s.example.org", None),
            (
                None,
                env,
                None,
                "https://k8s.example.org",
                Some("http://proxy:3128/"),
            ),
            (
                None,
                Some("proxy:3128"),
                None,
                "https://k8s.example.org",
                Some("http://proxy:3128/"),
            ),
            (None, env, None, "https://127.0.0.1:6443", None),
            (None, env, None, "https://[::1]:6443", None),
            (None, env, None, "https://localhost:6443", None),
            (
                None,
                env,
                Some("example.org"),
                "https://k8s.example.org",
                None,
            ),
            (
                None,
                env,
                Some("a, .EXAMPLE.org"),
                "https://k8s.example.org",
                None,
            ),
            (
                None,
                env,
                Some("ample.org"),
                "https://k8s.example.org",
                Some("http://proxy:3128/"),
            ),
            (None, env, Some("10.0.0.0/8"), "https://10.1.2.3:6443", None),
            (
                None,
                env,
                Some("10.0.0.0/16"),
                "https://10.1.2.3:6443",
                Some("http://proxy:3128/"),
            ),
            (None, env, Some("fd00::/8"), "https://[fd00::7]:6443", None),
            (None, env, Some("10.1.2.3"), "https://10.1.2.3", None),
            (None, env, Some("*"), "https://k8s.example.org", None),
            (
                Some("socks5://own:1080"),
                env,
                Some("*"),
                "https://k8s.example.org",
                Some("socks5://own:1080/"),
            ),
        ] {
            let chosen = choose(configured, environment, no_proxy, &cluster.parse().unwrap());
            let chosen = chosen.unwrap().map(|uri| uri.to_string());
            assert_eq!(
                chosen.as_deref(),
                expected,
                "{configured:?} {no_proxy:?} {cluster}"
            );
        }
        let bad = choose(
            Some("http://user:c4n4ry@ x"),
            None,
            None,
            &Uri::from_static("https://x"),
        );
        assert!(!bad.unwrap_err().contains("c4n4ry"));
    }
}
