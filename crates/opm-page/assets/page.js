// Asks for the page again when the server says that what it shows has changed. Without this
// script every page is whole; it only has to be loaded by hand.
"use strict";

(() => {
  const main = document.getElementById("content");
  const told = document.getElementById("told");
  let source = null;

  async function renew(digest) {
    if (digest === main.dataset.digest) return;
    const answer = await fetch(location.href, { credentials: "same-origin" });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("content");
    if (!fresh) return;
    const open = [...main.querySelectorAll("details")].map((one) => one.open);
    const focused = document.activeElement && document.activeElement.id;
    const typed = document.getElementById("q") && document.getElementById("q").value;
    main.replaceChildren(...fresh.childNodes);
    main.dataset.digest = fresh.dataset.digest || digest;
    main.querySelectorAll("details").forEach((one, at) => { one.open = !!open[at]; });
    const filter = document.getElementById("q");
    if (filter && typed !== null) filter.value = typed;
    if (focused && document.getElementById(focused)) document.getElementById(focused).focus();
    told.textContent = "Updated " + new Date().toLocaleTimeString();
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
  look();
})();
