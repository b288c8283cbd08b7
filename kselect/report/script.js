
"use strict";
// Adds to a page that is complete without it: sorting, filters, search, cells that open, and a link that keeps the view.
(() => {
  const root = document.documentElement;
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const make = (name, text = "", attributes = {}) => {
    const found = document.createElement(name);
    if (text) found.textContent = text;
    for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
    return found;
  };
  root.classList.add("js");

  // The view, kept in the address after "#" as name=value pairs. A fragment without "=" is a place on the page.
  const stored = () => new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
  const keep = (name, value) => {
    const found = stored();
    if (value) found.set(name, value); else found.delete(name);
    history.replaceState(null, "", found.size ? `#${found}` : location.pathname + location.search);
  };
  const restorers = [];
  const restore = () => { const found = stored(); for (const one of restorers) one(found); };

  // Numbers before texts, missing values last.
  const visible = (cell, table) => {
    const spans = { published: ".theirs", apart: ".apart" };
    const wanted = spans[table.dataset.show] || ".ours";
    return cell.querySelector(wanted) || (cell.querySelector(".ours") ? null : cell);
  };
  // 2^-3 as 0.125.
  const written = (text) => text.replace(/(\d+(?:\.\d+)?)\^(-?\d+)/g, (_, base, power) => base ** power);
  const key = (row, column, table) => {
    const cell = row.cells[column];
    if (!cell) return "";
    if (cell.dataset.sort) return Number(cell.dataset.sort);
    const shown = visible(cell, table);
    const text = shown ? shown.textContent.trim() : "";
    const number = written(text).replace(/^[~<>] ?/, "").replace(/,(?=\d{3})/g, "").match(/^[-+]?\d+(\.\d+)?(e[-+]?\d+)?(?![\w.-]*[a-z-])/i);
    return number ? Number(number[0]) : text === "\u2013" ? "" : text;
  };
  const compare = (a, b) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });
  };
  const sortable = (table, id) => {
    const heads = all("thead th", table);
    const bodies = all("tbody", table).map((body) => [body, [...body.rows]]);
    const sort = (column, order) => {
      heads.forEach((head, i) => i === column && order ? head.setAttribute("aria-sort", order) : head.removeAttribute("aria-sort"));
      for (const [body, rows] of bodies) {
        const sign = order === "descending" ? -1 : 1;
        const keyed = rows.map((row) => [key(row, column, table), row]);
        if (order) keyed.sort(([a], [b]) => a === "" || b === "" ? compare(a, b) : sign * compare(a, b));
        body.append(...keyed.map(([, row]) => row));
      }
    };
    heads.forEach((head, column) => {
      const button = make("button", head.textContent, { type: "button" });
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const next = { ascending: "descending", descending: "" };
        const now = head.getAttribute("aria-sort");
        const order = now ? next[now] : "ascending";
        sort(column, order);
        keep(`sort-${id}`, order && `${column}.${order}`);
      });
    });
    restorers.push((found) => {
      const [column, order] = (found.get(`sort-${id}`) || "").split(".");
      if (["ascending", "descending"].includes(order)) sort(Number(column), order);
    });
  };

  // On a narrow screen each row of a wide table becomes a card, and each cell names its column.
  const narrow = matchMedia("(max-width: 40rem)");
  const label = () => {
    if (!narrow.matches) return;
    for (const table of all("table.wide:not(.labelled)")) {
      table.classList.add("labelled");
      table.parentElement.classList.add("cards-only");
      const names = all("thead th", table).map((head) => head.textContent);
      for (const row of all("tbody tr, tfoot tr", table)) {
        [...row.cells].forEach((cell, i) => {
          if (!i) return;
          const box = make("div", "", { class: "box" });
          box.append(...cell.childNodes);
          cell.append(box);
          cell.dataset.label = names[i];
          cell.classList.toggle("empty", cell.textContent.trim() === "\u2013");
        });
      }
      shorten(table);
    }
  };
  // A long table of cards starts with the first of them; whoever filters or sorts sees all rows.
  const shorten = (table) => {
    const count = all("tbody tr", table).length;
    if (count <= LONG || stored().size) return;
    table.classList.add("short");
    const button = make("button", `Show all ${count} rows`, { type: "button", class: "unfold" });
    const unfold = () => { table.classList.remove("short"); button.remove(); };
    button.addEventListener("click", unfold);
    table.parentElement.after(button);
    addEventListener("input", unfold, { once: true });
  };
  // A table that is wider than its frame says so, and one that goes on below its frame has a shadow there. Up to EDGE
  // pixels hide nothing: they are the padding of the last column.
  const EDGE = 8;
  const cue = (frame) => {
    const text = make("p", "This table scrolls sideways \u2192", { class: "cue", hidden: "" });
    frame.before(text);
    const look = () => {
      if (frame.clientWidth < frame.offsetWidth) frame.classList.add("barred");
      const more = frame.clientWidth > 0 && frame.scrollWidth > frame.clientWidth + EDGE;
      frame.classList.toggle("more", more);
      text.hidden = !more;
      frame.classList.toggle("below", frame.scrollTop + frame.clientHeight < frame.scrollHeight - EDGE);
    };
    const watch = new ResizeObserver(look);
    watch.observe(frame);
    watch.observe(frame.firstElementChild);
    frame.addEventListener("scroll", look, { passive: true });
  };

  // One search field per long table. On the front page also a choice per property: of a row of the board, or of a column
  // of the look-up. These two are searched together, and each says how many rows of the other one match.
  const LONG = 15;
  const PROPERTIES = { paper: "Paper", verdict: "Verdict", kind: "Kind", dataset: "Data set", method: "Method" };
  const together = [];
  const filterable = (table, id) => {
    const rows = all("tbody tr", table);
    const board = table.classList.contains("board"), lookup = table.classList.contains("lookup");
    const shared = board || lookup;
    if (!shared && rows.length <= LONG) return;
    const unit = table.dataset.unit || "rows";
    const tools = make("div", "", { class: "tools", role: "search", "aria-label": `Filter ${table.caption ? table.caption.textContent : "rows"}` });
    const prefix = board ? "" : lookup ? "number-" : `${id}-`;
    const fields = [];
    const field = (name, words, input, matches) => {
      const found = make("label", words);
      found.append(input);
      tools.append(found);
      fields.push({ name, input, matches });
    };
    const choice = (name, words, values) => {
      const select = make("select");
      const known = new Set(rows.flatMap(values).filter(Boolean));
      select.append(new Option("all", ""), ...[...known].map((value) => new Option(value, value)));
      field(prefix + name, words, select, (row) => values(row).includes(select.value));
    };
    const texts = new Map();
    const text = (row) => texts.get(row) || texts.set(row, row.textContent.toLowerCase()).get(row);
    const search = make("input", "", { type: "search" });
    const words = () => search.value.toLowerCase().split(/\s+/);
    const searchable = () => field(shared ? "search" : `${prefix}search`, shared ? "Search numbers and claims" : "Search", search, (row) => words().every((word) => text(row).includes(word)));
    if (lookup) {
      search.placeholder = "heart 5-CV";
      searchable();
      all("thead th", table).forEach((head, i) => {
        if (head.dataset.filter) choice(head.dataset.filter, head.textContent.replace(/^./, (first) => first.toUpperCase()), (row) => [row.cells[i].textContent]);
      });
    }
    if (board) for (const [name, title] of Object.entries(PROPERTIES)) choice(name, title, (row) => row.dataset[name].split("|"));
    if (!lookup) searchable();
    const count = make("output");
    tools.append(count);
    const fold = table.closest("details");
    const one = { search, table, unit, also: make("button", "", { type: "button", hidden: "" }) };
    const apply = one.apply = () => {
      const asked = fields.filter(({ input }) => input.value);
      one.shown = 0;
      for (const row of rows) {
        row.hidden = !asked.every(({ matches }) => matches(row));
        one.shown += !row.hidden;
      }
      one.count = `${one.shown} of ${rows.length} ${unit}`;
      count.textContent = one.shown ? one.count : `No ${unit} match`;
      if (!lookup || !fold) return;
      fold.querySelector("summary span").textContent = one.shown < rows.length ? `${one.shown} of ${rows.length}` : rows.length;
      if (asked.length) fold.open = true;
    };
    const others = () => {
      for (const mine of together) {
        const other = together.find((found) => found !== mine);
        mine.also.hidden = !other || !other.shown || !mine.search.value;
        if (other) mine.also.textContent = `Go to ${other.count}`;
      }
    };
    if (shared) {
      tools.append(one.also);
      one.also.addEventListener("click", () => together.find((found) => found !== one).table.closest("section").scrollIntoView());
      together.push(one);
    }
    if (board) {
      const link = make("button", "Copy the link to this view", { type: "button" });
      link.addEventListener("click", () => copy(location.href, link));
      tools.append(link);
    }
    for (const { name, input } of fields) {
      input.addEventListener("input", () => {
        keep(name, input.value);
        if (input !== search || !shared) apply();
        else for (const each of together) { each.search.value = input.value; each.apply(); }
        others();
      });
    }
    restorers.push((found) => {
      for (const { name, input } of fields) input.value = found.get(name) || "";
      apply();
      others();
    });
    (lookup && fold ? fold : table.parentElement).before(tools);
    apply();
  };

  // Ours, published, or their difference in standard errors; a cell without a printed number has a dash for the others.
  const SHOWN = { both: "ours and published", ours: "ours", published: "published", apart: "difference in standard errors" };
  const switches = () => {
    const tables = all("table").filter((table) => table.querySelector(".theirs"));
    const selects = [];
    const show = (value) => {
      for (const table of tables) table.dataset.show = value;
      for (const select of selects) select.value = value;
    };
    const absent = (kind) => make("span", "\u2013", { class: `${kind} none` });
    for (const table of tables) {
      for (const cell of all("td", table)) {
        if (!cell.querySelector(".ours") && cell.textContent.trim() !== "\u2013") {
          const ours = make("span", "", { class: "ours" });
          ours.append(...cell.childNodes);
          cell.append(ours, absent("theirs"));
        }
        if (cell.querySelector(".ours") && !cell.querySelector(".apart")) cell.append(absent("apart"));
      }
      const select = make("select", "", { class: "shown" });
      select.append(...Object.entries(SHOWN).map(([value, words]) => new Option(words, value)));
      select.addEventListener("change", () => { show(select.value); keep("show", select.value === "both" ? "" : select.value); });
      selects.push(select);
      const tools = make("div", "", { class: "tools" });
      const named = make("label", "Show");
      named.append(select);
      tools.append(named);
      table.parentElement.before(tools);
    }
    restorers.push((found) => show(Object.hasOwn(SHOWN, found.get("show")) ? found.get("show") : "both"));
  };

  // What is known of a cell lies in a file per data set, loaded as a script so that it works from a disk.
  const loaded = new Map();
  const waiting = new Map();
  window.kselect = { cells: (name, found) => { loaded.set(name, found); (waiting.get(name) || []).forEach((done) => done()); waiting.delete(name); } };
  const open = (address) => {
    const at = address.lastIndexOf("/");
    const name = address.slice(0, at);
    const show = () => { const found = (loaded.get(name) || [])[Number(address.slice(at + 1))]; if (found) panel(found, address); };
    if (loaded.has(name)) return show();
    const first = !waiting.has(name);
    waiting.set(name, [...(waiting.get(name) || []), show]);
    if (!first) return undefined;
    const script = make("script", "", { src: `report-data/${encodeURIComponent(name)}.js` });
    script.addEventListener("error", () => { waiting.delete(name); panel({ title: "This cell's file is not here", note: `report-data/${name}.js lies next to the page; copy it too, or write the page with --standalone.` }, address); });
    document.head.append(script);
    return undefined;
  };
  const NS = "http://www.w3.org/2000/svg";
  const draw = (name, attributes, text = "") => {
    const found = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
    if (text) found.textContent = text;
    return found;
  };
  const strip = (errors) => {
    const values = errors.map(([, error]) => error);
    const low = Math.min(...values), high = Math.max(...values), wide = 560;
    const place = (value) => 20 + (wide - 40) * (high > low ? (value - low) / (high - low) : 0.5);
    const svg = draw("svg", { class: "strip", viewBox: `0 0 ${wide} 64`, role: "img", "aria-label": `Errors of ${values.length} splits, from ${low} to ${high}` });
    svg.append(draw("line", { x1: 20, x2: wide - 20, y1: 44, y2: 44 }));
    const seen = new Map();
    for (const [split, error] of errors) {
      const x = Math.round(place(error) / 5);
      const level = seen.get(x) || 0;
      seen.set(x, level + 1);
      const dot = draw("circle", { cx: place(error), cy: Math.max(5, 39 - 6 * level), r: 4 });
      dot.append(draw("title", {}, `split ${split}: ${error}`));
      svg.append(dot);
    }
    svg.append(draw("text", { x: 20, y: 58 }, `${low}`));
    if (high > low) svg.append(draw("text", { x: wide - 20, y: 58, "text-anchor": "end" }, `${high}`));
    return svg;
  };
  let opener = null;
  const panel = (cell, address) => {
    all("dialog").forEach((old) => old.remove());
    const dialog = make("dialog", "", { "aria-labelledby": "cell-title" });
    dialog.append(make("h2", cell.title, { id: "cell-title" }));
    const facts = make("dl", "", { class: "facts" });
    const fact = (name, text) => { if (text) facts.append(make("dt", name), make("dd", text)); };
    if (cell.note) dialog.append(make("p", cell.note));
    if (cell.errors) {
      dialog.append(make("p", `One dot per split: ${cell.unit}.`, { class: "soft" }), strip(cell.errors));
      const list = make("details");
      list.append(make("summary", "The numbers"), make("p", cell.errors.map(([split, error]) => `${split}: ${error}`).join(", "), { class: "soft" }));
      dialog.append(list);
    }
    fact(cell.published ? "Ours" : "Mean", cell.mean);
    fact("Runs", cell.runs);
    fact("Published", cell.published);
    fact("Difference", cell.apart && `${cell.apart} standard errors`);
    if (cell.kernels && cell.kernels.length > 1) fact("Chosen kernels", cell.kernels.join(", "));
    for (const [name, median, low, high] of cell.chosen || []) fact(`Chosen ${name}`, low === high ? `always ${median}` : `median ${median}, from ${low} to ${high}`);
    fact("On the boundary", cell.edge && `${cell.edge} choices lie at an edge of the grid`);
    for (const [reason, splits] of cell.failures || []) fact("Failed", `${reason} (splits ${splits.join(", ")})`);
    dialog.append(facts);
    if (cell.command) {
      const command = make("pre", cell.command, { tabindex: "0" });
      const button = make("button", "Copy the command", { type: "button" });
      button.addEventListener("click", () => copy(cell.command, button));
      dialog.append(make("p", "Computed again, in the folder of this page:"), command, button);
    }
    const close = make("button", "Close", { type: "button" });
    close.addEventListener("click", () => dialog.close());
    dialog.append(" ", close);
    dialog.addEventListener("close", () => { dialog.remove(); keep("cell", ""); if (opener) opener.focus(); });
    document.body.append(dialog);
    dialog.showModal();
    keep("cell", address);
  };
  const cells = () => {
    for (const cell of all("td[data-cell]")) {
      const button = make("button", "", { type: "button", class: "cell" });
      button.append(...cell.childNodes);
      cell.append(button);
    }
    const tables = new Set(all("td[data-cell]").map((cell) => cell.closest(".scroll")));
    const sections = new Set();
    for (const frame of tables) {
      const section = frame.closest("section");
      if (!sections.has(section)) frame.before(make("p", "A click on a number opens the errors of its splits.", { class: "cue" }));
      sections.add(section);
    }
    document.addEventListener("click", (event) => {
      const button = event.target.closest && event.target.closest("button.cell");
      if (!button) return;
      opener = button;
      open(button.closest("td").dataset.cell);
    });
    restorers.push((found) => {
      const address = found.get("cell");
      if (!address || document.querySelector("dialog")) return;
      opener = all("td[data-cell] button").find((button) => button.closest("td").dataset.cell === address);
      open(address);
    });
  };

  const copy = (text, button) => {
    const told = () => {
      const words = button.dataset.words || button.textContent;
      button.dataset.words = words;
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = words; }, 1500);
    };
    const area = () => {
      const field = make("textarea");
      field.value = text;
      (button.closest("dialog") || document.body).append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
      told();
    };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(told, area); else area();
  };
  // A page that contains its pictures offers them as files, too.
  for (const image of all('figure img[src^="data:image/svg"]')) {
    const files = all(".files", image.closest("figure"))[0];
    const stem = files && all("a", files)[0].download.replace(/\.\w+$/, "");
    if (!stem) continue;
    files.append(make("a", "SVG", { href: image.src, download: `${stem}.svg` }), " ");
    const png = make("button", "PNG", { type: "button" });
    png.addEventListener("click", () => {
      const canvas = make("canvas", "", { width: 4 * image.naturalWidth, height: 4 * image.naturalHeight });
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      make("a", "", { href: canvas.toDataURL("image/png"), download: `${stem}.png` }).click();
    });
    files.append(png);
  }
  for (const button of all(".copy")) {
    button.hidden = false;
    button.addEventListener("click", () => copy(button.previousElementSibling.textContent, button));
  }

  all(".scroll").forEach((frame, i) => {
    const table = frame.querySelector("table");
    sortable(table, i);
    filterable(table, i);
    cue(frame);
  });
  switches();
  cells();
  label();
  narrow.addEventListener("change", label);
  const reveal = () => {
    const place = location.hash.length > 1 && !location.hash.includes("=") && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!place) return;
    for (let box = place.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
    // The heading of a claim lies above its place.
    const claim = place.closest(".claim");
    if (claim) place.style.scrollMarginTop = `${place.getBoundingClientRect().top - claim.getBoundingClientRect().top}px`;
    place.scrollIntoView();
  };
  addEventListener("hashchange", () => { restore(); reveal(); });
  // A picture that is not loaded yet is not printed. From a disk, all are loaded once the page is shown.
  const hurry = () => { for (const image of all("img[loading]")) image.loading = "eager"; };
  if (location.protocol === "file:") addEventListener("load", () => setTimeout(hurry, 0));
  addEventListener("beforeprint", () => {
    for (const box of all("details:not([open], .numbers)")) { box.open = true; box.dataset.printed = "1"; }
    hurry();
  });
  addEventListener("afterprint", () => { for (const box of all("details[data-printed]")) { box.open = false; delete box.dataset.printed; } });
  restore();
  reveal();
})();
