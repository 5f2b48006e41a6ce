// Asks for the page again when the server says that what it shows has changed, and says how long
// ago something was. Without this script every page is whole; it only has to be loaded by hand.
"use strict";

(() => {
  const main = document.getElementById("content");
  const told = document.getElementById("told");
  const ages = new Intl.RelativeTimeFormat("en", { numeric: "always", style: "long" });
  const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60]];
  let source = null;

  function age(seconds) {
    const unit = UNITS.find(([, length]) => seconds >= length);
    return unit ? ages.format(-Math.floor(seconds / unit[1]), unit[0]) : "just now";
  }

  function tellAges() {
    for (const time of document.querySelectorAll("time")) {
      const at = Date.parse(time.dateTime);
      if (Number.isNaN(at)) continue;
      time.title = time.title || time.textContent;
      const text = age((Date.now() - at) / 1000);
      if (time.textContent !== text) time.textContent = text;
    }
  }

  async function renew(digest) {
    if (digest === main.dataset.digest) return;
    const answer = await fetch(location.href, { credentials: "same-origin" });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("content");
    if (!fresh) return;
    const open = [...main.querySelectorAll("details")].map((one) => one.open);
    const active = document.activeElement;
    const focused = active && active !== document.body && main.contains(active) && place(active);
    // The filter only: what confirms a plan is typed anew for another one.
    const typed = document.getElementById("q")?.value;
    main.replaceChildren(...fresh.childNodes);
    main.dataset.digest = fresh.dataset.digest || digest;
    main.querySelectorAll("details").forEach((one, at) => { one.open = !!open[at]; });
    const filter = document.getElementById("q");
    if (filter && typed !== undefined) filter.value = typed;
    const again = focused && find(focused);
    if (again) again.focus();
    tellAges();
    told.textContent = "Updated " + new Date().toLocaleTimeString();
  }

  // What has the focus keeps it: it is known by its id, else by where it leads.
  function place(element) {
    return { id: element.id, href: element.getAttribute("href") };
  }

  function find({ id, href }) {
    if (id) return document.getElementById(id);
    return href && [...main.querySelectorAll("a")].find((one) => one.getAttribute("href") === href);
  }

  function look() {
    if (source || !main.dataset.live || document.hidden) return;
    source = new EventSource(main.dataset.live);
    source.onmessage = (event) => { renew(event.data).catch(() => {}); };
    source.onerror = () => { told.textContent = "The page is no longer told of changes; it asks again."; };
    source.onopen = () => { told.textContent = ""; };
  }

  function leave() {
    if (source) source.close();
    source = null;
  }

  // A tab that nobody sees holds nothing open.
  document.addEventListener("visibilitychange", () => (document.hidden ? leave() : look()));
  window.addEventListener("pagehide", leave);
  tellAges();
  setInterval(tellAges, 30000);
  look();
})();
