// Features of a component, by what follows its score (patterns) or by the weights that make it (loadings): the largest as
// bars, all of them in a table that can be searched, sorted and saved; images.
{
  const { data } = R;
  const p = data.features.length;
  const split = (packed) => {
    const all = R.floats(packed);
    return Array.from({ length: all.length / p }, (_, c) => all.subarray(c * p, (c + 1) * p));
  };
  const loadings = split(data.loadings);
  const patterns = data.patterns ? split(data.patterns) : loadings;
  const kind = R.element("pick-kind"); // absent where a model of an older version has no patterns
  const byPattern = () => kind !== null && kind.value === "patterns";
  let components = byPattern() ? patterns : loadings;
  const pick = R.element("pick-loading");
  components.forEach((_, c) => pick.append(R.make("option", { value: String(c), textContent: R.component(c) })));

  const TOP = 15;
  const box = R.element("top");
  const strongest = (c) => Array.from(data.features.keys()).sort((a, b) => Math.abs(components[c][b]) - Math.abs(components[c][a]) || a - b);
  let sorting = { column: 0, down: true };
  let ranking = strongest(0);

  const drawTop = () => {
    const c = Number(pick.value);
    const chosen = strongest(c).slice(0, TOP).reverse();
    const values = chosen.map((i) => components[c][i]);
    const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
    const pad = 0.04 * (high - low) || 1;
    const narrow = box.clientWidth < 640;
    const trace = {
      type: "bar", orientation: "h", x: values, y: chosen.map((_, i) => i), marker: { color: values.map((v) => R.variable(v < 0 ? "--negative" : "--positive")) },
      text: chosen.map((i) => R.plain(data.features[i])), textposition: "none", hovertemplate: "%{text}: %{x:.4g}<extra></extra>",
    };
    const layout = R.layout({
      height: 70 + 23 * chosen.length,
      width: box.clientWidth,
      dragmode: false,
      margin: { l: 20, r: 12, t: 8, b: 44 },
      bargap: 0.3,
      xaxis: R.axis({ range: [low && low - pad, high && high + pad], fixedrange: true, title: { text: byPattern() ? `change of the feature with ${R.component(c)} (pattern)` : `loading on ${R.component(c)}`, font: { size: 13, color: R.variable("--soft") } } }),
      yaxis: R.axis({ tickvals: chosen.map((_, i) => i), ticktext: chosen.map((i) => R.plain(R.short(data.features[i], narrow ? 18 : 34))), fixedrange: true, showgrid: false, zeroline: false }),
    });
    return R.plot(box, [trace], layout);
  };
  pick.addEventListener("change", () => {
    drawTop();
    sort(Number(pick.value), true);
  });

  if (kind) kind.addEventListener("change", () => {
    components = byPattern() ? patterns : loadings;
    largest = sizes(components);
    drawTop();
    sort(Number(pick.value), true);
  });

  const PAGE = 100;
  let limit = PAGE;
  const search = R.element("search");
  const table = R.element("loadings-table");
  const body = R.make("tbody");
  const lower = data.features.map((name) => name.toLowerCase());

  const arrow = (column) => (sorting.column === column ? (sorting.down ? " ↓" : " ↑") : "");
  const head = () => {
    const cell = (text, column) => {
      const button = R.make("button", { type: "button", textContent: text + arrow(column) });
      button.addEventListener("click", () => {
        sort(column, sorting.column === column ? !sorting.down : column >= 0);
        table.querySelectorAll("thead button")[column + 1].focus();
      });
      const header = R.make("th", { scope: "col" }, button);
      if (sorting.column === column) header.setAttribute("aria-sort", sorting.down ? "descending" : "ascending");
      return header;
    };
    return R.make("thead", null, R.make("tr", null, cell("feature", -1), ...components.map((_, c) => cell(R.component(c), c))));
  };
  const sort = (column, down) => {
    sorting = { column, down };
    ranking = column < 0 ? Array.from(data.features.keys()).sort((a, b) => (lower[a] < lower[b] ? -1 : lower[a] > lower[b] ? 1 : a - b)) : strongest(column);
    if (column < 0 ? down : !down) ranking.reverse();
    list();
  };
  const sizes = (rows) => rows.map((values) => values.reduce((most, v) => Math.max(most, Math.abs(v)), 0) || 1);
  let largest = sizes(components);
  const cellOf = (c, i) => {
    const value = components[c][i];
    const cell = R.make("td", { className: "sized", textContent: R.number(value) });
    const share = (100 * Math.abs(value)) / largest[c];
    const tint = R.variable(value < 0 ? "--negative" : "--positive");
    cell.style.backgroundImage = `linear-gradient(${tint}, ${tint})`;
    cell.style.backgroundSize = `${(share * 0.55).toFixed(1)}% 3px`;
    cell.style.backgroundPosition = "right 12px bottom 3px";
    return cell;
  };
  const list = () => {
    const wanted = search.value.trim().toLowerCase();
    const found = wanted ? ranking.filter((i) => lower[i].includes(wanted)) : ranking;
    body.replaceChildren(...found.slice(0, limit).map((i) => R.make("tr", null, R.make("th", { scope: "row", textContent: data.features[i], title: data.features[i] }), ...components.map((_, c) => cellOf(c, i)))));
    table.replaceChildren(head(), body);
    const of = wanted ? `${R.grouped(found.length)} of ${R.grouped(p)} features` : `${R.grouped(p)} features`;
    R.element("search-count").textContent = found.length > limit ? `${of}; the first ${limit} are shown` : of;
    R.element("more").hidden = found.length <= limit;
  };
  search.addEventListener("input", () => {
    limit = PAGE;
    list();
  });
  R.element("more").addEventListener("click", () => {
    limit += 5 * PAGE;
    list();
  });
  R.element("loadings-csv").addEventListener("click", () => {
    const columns = data.patterns ? [...loadings, ...patterns] : loadings;
    const rows = data.features.map((name, i) => [name, ...columns.map((values) => Number(values[i].toPrecision(7)))]);
    const heads = columns.map((_, c) => (c < loadings.length ? R.component(c) : `${R.component(c - loadings.length)} pattern`));
    R.download("loadings.csv", R.csv([["feature", ...heads], ...rows]));
  });

  // Components as images: one canvas each, zero in the colour of the card.
  const drawImages = () => {
    const grid = R.element("image-grid");
    if (!data.image || !grid) return;
    const [height, width] = data.image;
    const parse = (name) => {
      const hex = R.variable(name).slice(1);
      return [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16));
    };
    const [zero, negative, positive] = ["--card", "--negative", "--positive"].map(parse);
    const most = sizes(loadings);
    grid.replaceChildren(...loadings.map((values, c) => {
      const canvas = R.make("canvas", { width, height });
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", `${R.component(c)} as an image`);
      const context = canvas.getContext("2d");
      const image = context.createImageData(width, height);
      for (let i = 0; i < p; i++) {
        const share = Math.min(1, Math.abs(values[i]) / most[c]);
        const end = values[i] < 0 ? negative : positive;
        for (let channel = 0; channel < 3; channel++) image.data[4 * i + channel] = Math.round(zero[channel] + share * (end[channel] - zero[channel]));
        image.data[4 * i + 3] = 255;
      }
      context.putImageData(image, 0, 0);
      return R.make("figure", null, canvas, R.make("figcaption", { textContent: `${R.component(c)}, ${(100 * data.variance.ratio[c]).toFixed(1)} % of target variance` }));
    }));
  };

  R.tables = () => list();
  R.parts.push(drawTop, list, drawImages);
}
