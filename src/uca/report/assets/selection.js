// Rows that were drawn around, or found by id or label: listed, counted, and saved.
{
  const { data } = R;
  const S = R.scatter;
  const LISTED = 300;
  const table = R.element("selection-table");
  const name = data.labels ? data.labels.name : "label";
  const components = Array.from({ length: data.k }, (_, c) => R.component(c));

  const ordered = () => Array.from(S.selected || []).sort((a, b) => a - b);
  const setName = (i) => S.sets[S.datasetOf(i)].name;
  const labelText = (i) => (i < S.sets[0].shown ? S.labelOf(i) : "");

  const list = (rows) => {
    const header = R.make("tr", null, ...["row", "dataset", name].map((text) => R.make("th", { scope: "col", className: "text", textContent: text })),
      ...components.map((text) => R.make("th", { scope: "col", textContent: text })));
    const body = rows.slice(0, LISTED).map((i) =>
      R.make("tr", null, R.make("td", { textContent: S.idOf(i) }), R.make("td", { className: "text", textContent: setName(i) }), R.make("td", { className: "text", textContent: labelText(i) }),
        ...components.map((_, c) => R.make("td", { textContent: R.number(S.score(i, c)) }))));
    table.replaceChildren(R.make("thead", null, header), R.make("tbody", null, ...body));
  };

  const summary = (rows) => {
    if (!rows.length) return S.selected ? "No row matches." : "None. Draw around points, or find them by id or label.";
    const counts = new Map();
    for (const i of rows) {
      const group = i < S.sets[0].shown && S.codes ? S.labelOf(i) : setName(i);
      counts.set(group, (counts.get(group) || 0) + 1);
    }
    const parts = Array.from(counts).sort((a, b) => b[1] - a[1]).slice(0, 6).map(([group, n]) => `${n} ${R.short(group, 30)}`);
    const more = rows.length > LISTED ? `; the first ${LISTED} are listed` : "";
    return `${rows.length} ${rows.length === 1 ? "row" : "rows"}: ${parts.join(", ")}${counts.size > 6 ? ", …" : ""}${more}`;
  };

  R.select = (rows) => {
    S.selected = rows && rows.size ? rows : null;
    show();
    return S.mark();
  };
  const show = () => {
    const rows = ordered();
    list(rows);
    R.element("selection-count").textContent = summary(rows);
    R.element("selection-box").hidden = !rows.length;
    R.element("clear").disabled = !S.selected;
    R.element("selection-csv").disabled = !rows.length;
  };

  const find = R.element("find");
  find.addEventListener("input", () => {
    const wanted = find.value.trim().toLowerCase();
    if (!wanted) return R.select(null);
    const found = new Set();
    for (let i = 0; i < S.total; i++) {
      if (S.idOf(i).toLowerCase().includes(wanted) || S.labelOf(i).toLowerCase().includes(wanted)) found.add(i);
    }
    R.select(found);
    if (!found.size) R.element("selection-count").textContent = "No row matches.";
  });
  R.element("clear").addEventListener("click", () => {
    find.value = "";
    R.select(null);
    find.focus();
  });
  R.element("selection-csv").addEventListener("click", () => {
    const rows = ordered().map((i) => [S.idOf(i), setName(i), labelText(i), ...components.map((_, c) => Number(S.score(i, c).toPrecision(7)))]);
    R.download("selected_rows.csv", R.csv([["row", "dataset", name, ...components], ...rows]));
  });
}
