// Contents, search and copying, without any library and without the internet: pages may be opened
// as files, so the index of the search is a script (search.js, written by tools/build-site.R).
(function () {
  "use strict";
  const root = new URL(".", document.currentScript.src);

  function element(tag, text, attributes) {
    const made = document.createElement(tag);
    if (text) made.textContent = text;
    for (const name in attributes || {}) made.setAttribute(name, attributes[name]);
    return made;
  }

  // Contents --------------------------------------------------------------------------------------

  function idOf(heading) {
    if (heading.id) return heading.id;
    const section = heading.closest("[id]");
    return section && section.id !== "main" ? section.id : null;
  }

  function fillContents() {
    const nav = document.querySelector("#toc");
    if (!nav) return;
    const list = element("ul", "", { class: "nav flex-column" });
    document.querySelectorAll("main h2, main h3").forEach(function (heading) {
      const id = idOf(heading);
      if (!id || heading.hasAttribute("data-toc-skip")) return;
      const item = element("li", "", { class: "toc-" + heading.tagName.toLowerCase() });
      item.append(element("a", heading.textContent.trim(), { href: "#" + id, class: "nav-link" }));
      list.append(item);
    });
    if (list.children.length) nav.append(list);
    else nav.hidden = true;
  }

  // Copying ---------------------------------------------------------------------------------------

  function addCopying() {
    if (!navigator.clipboard) return;
    document.querySelectorAll("div.sourceCode").forEach(function (block) {
      const button = element("button", "Copy", { type: "button", class: "copy" });
      button.addEventListener("click", function () {
        const code = block.querySelector("pre").textContent.replace(/\n#>[^\n]*/g, "");
        navigator.clipboard.writeText(code).then(function () {
          button.textContent = "Copied";
          setTimeout(function () { button.textContent = "Copy"; }, 1500);
        });
      });
      block.prepend(button);
    });
  }

  // Search ----------------------------------------------------------------------------------------

  const most = 12;

  function plain(text) {
    return (text || "").toLowerCase().normalize("NFKD").replace(/[\u0300-\u036f]/g, "")
      .replace(/[-\u2010-\u2015]/g, " ");
  }

  // How well an entry answers: 0 where one of the words is nowhere in it. An entry that has the
  // words beside each other, as they were typed, comes before one that has them apart.
  function score(entry, words, phrase) {
    let sum = 0;
    for (const word of words) {
      const best = entry.title.includes(word) ? 6 : entry.keys.includes(word) ? 5 :
        entry.what.includes(word) ? 3 : entry.text.includes(word) ? 1 : 0;
      if (!best) return 0;
      sum += best;
    }
    sum /= words.length;
    for (const part of ["title", "keys", "what", "text"]) {
      if (entry[part].includes(phrase)) sum += 4;
    }
    return sum;
  }

  function find(index, query) {
    const phrase = plain(query).trim();
    // pkgdown takes words such as "in" and "the" out of the text.
    const all = phrase.split(/\s+/).filter(Boolean);
    const long = all.filter(function (word) {
      return word.length > 2 && !["and", "for", "from", "how", "the", "what", "with"].includes(word);
    });
    const words = long.length ? long : all;
    if (!words.length) return [];
    const found = index.map(function (entry) {
      return { entry: entry, score: score(entry, words, phrase) };
    }).filter(function (one) { return one.score > 0; });
    found.sort(function (a, b) { return b.score - a.score; });
    const seen = new Set();
    return found.filter(function (one) {
      const key = one.entry.source.path + "#" + (one.entry.source.id || "");
      return !seen.has(key) && seen.add(key);
    }).slice(0, most).map(function (one) { return one.entry.source; });
  }

  function prepare(rows) {
    return rows.map(function (row) {
      return {
        source: row, title: plain(row.title), what: plain(row.what), keys: plain(row.keys),
        text: plain([row.text, row.code].join(" "))
      };
    });
  }

  let index = null;

  function loadIndex(then) {
    if (index) return then();
    if (window.siteIndex) {
      index = prepare(window.siteIndex);
      return then();
    }
    const script = element("script", "", { src: new URL("search.js", root).href });
    script.addEventListener("load", function () {
      index = prepare(window.siteIndex);
      then();
    });
    document.head.append(script);
  }

  function show(input, results) {
    let box = document.querySelector("#search-results");
    if (!box) {
      box = element("div", "", { id: "search-results", role: "listbox" });
      input.parentNode.append(box);
    }
    box.replaceChildren();
    box.hidden = input.value.trim().length < 2;
    if (box.hidden) return;
    results.forEach(function (row) {
      const url = new URL(row.path + (row.id ? "#" + row.id : ""), root);
      const link = element("a", row.title || row.what, { href: url.href, role: "option" });
      const under = row.title && row.what !== row.title ? row.what : row.dir;
      if (under) link.append(element("small", under));
      box.append(link);
    });
    if (!results.length) box.append(element("p", "Nothing found."));
  }

  function addSearch() {
    const input = document.querySelector("#search-input");
    if (!input) return;
    const search = function () {
      loadIndex(function () { show(input, find(index, input.value)); });
    };
    input.addEventListener("focus", search);
    input.addEventListener("input", search);
    input.form.addEventListener("submit", function (event) {
      event.preventDefault();
      const first = document.querySelector("#search-results a");
      if (first) window.location.href = first.href;
    });
    input.addEventListener("keydown", function (event) {
      const box = document.querySelector("#search-results");
      if (event.key === "Escape" && box) box.hidden = true;
      if (event.key === "ArrowDown" && box) {
        const first = box.querySelector("a");
        if (first) first.focus();
        event.preventDefault();
      }
    });
    document.addEventListener("click", function (event) {
      const box = document.querySelector("#search-results");
      if (box && !input.form.contains(event.target)) box.hidden = true;
    });
    // A search as an address: index.html?q=power
    const asked = new URL(window.location.href).searchParams.get("q");
    if (asked) {
      input.value = asked;
      search();
    }
  }

  fillContents();
  addCopying();
  addSearch();
})();
