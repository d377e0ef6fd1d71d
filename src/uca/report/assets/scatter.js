// The scatter: target and backgrounds on the same axes, at any contrast, coloured by label or feature.
{
  const { data } = R;
  const box = R.element("scatter");
  const sets = data.datasets;
  const starts = [];
  let total = 0;
  for (const set of sets) {
    starts.push(total);
    set.rows = set.rows && new Uint32Array(R.bytes(set.rows));
    total += set.shown;
  }
  const m = sets.length - 1;
  const fitted = R.floats(data.scores);
  const codes = data.labels && data.labels.levels ? new Uint16Array(R.bytes(data.labels.codes)) : null;
  const labelValues = data.labels && !data.labels.levels ? R.unpack(data.labels.values, sets[0].shown)(0) : null;
  const featureValues = R.unpack(data.colour.values, total);
  const frame = data.path && R.unpack(data.path.scores, total);
  const hasWebGL = (() => {
    try {
      const context = document.createElement("canvas").getContext("webgl");
      return Boolean(context && context.getExtension("OES_element_index_uint") !== null);
    } catch (error) {
      return false;
    }
  })();
  const FAINT = 0.12; // opacity of points that are not selected
  const SVG_POINTS = 3000; // from here on drawn by the graphics card, if there is one
  const kind = total > SVG_POINTS && hasWebGL ? "scattergl" : "scatter";

  const S = (R.scatter = {
    total, starts, sets, codes, labelValues,
    x: 0,
    y: Math.min(1, data.k - 1),
    position: data.path ? data.path.optimum : 0,
    colour: data.labels ? "label" : "none",
    hidden: new Set(),
    selected: null,
    mode: document.querySelector('input[name="mode"]:checked').value,
    overlay: false,
    zoomed: false,
    kind,
  });

  S.datasetOf = (i) => {
    let d = m;
    while (starts[d] > i) d--;
    return d;
  };
  S.rowOf = (i) => {
    const d = S.datasetOf(i), local = i - starts[d];
    return sets[d].rows ? sets[d].rows[local] : local;
  };
  S.idOf = (i) => {
    const d = S.datasetOf(i);
    return sets[d].ids ? sets[d].ids[i - starts[d]] : `row ${S.rowOf(i)}`;
  };
  S.labelOf = (i) => {
    if (i >= sets[0].shown) return sets[S.datasetOf(i)].name;
    if (codes) return data.labels.levels[codes[i]];
    return labelValues ? R.number(labelValues[i]) : "";
  };
  S.score = (i, component) => fitted[component * total + i];

  // Scores of one component at a place between steps of the contrast.
  const cache = new Map();
  const atStep = (step, component) => {
    const key = step * data.k + component;
    if (!cache.has(key)) {
      if (cache.size > 60) cache.clear();
      const exact = !data.path || step === data.path.optimum;
      cache.set(key, exact ? fitted.subarray(component * total, (component + 1) * total) : frame(key));
    }
    return cache.get(key);
  };
  S.values = (component, position) => {
    const low = Math.floor(position), part = position - low;
    const first = atStep(low, component);
    if (part === 0) return first;
    const second = atStep(low + 1, component);
    return Float64Array.from(first, (value, i) => value + part * (second[i] - value));
  };

  const range = (values) => {
    let low = Infinity, high = -Infinity;
    for (const value of values) {
      if (value < low) low = value;
      if (value > high) high = value;
    }
    const pad = 0.06 * (high - low) || 1;
    return [low - pad, high + pad];
  };

  const share = (component, position) => {
    const { target, ratio } = data.variance;
    if (!data.path) return ratio[component];
    const at = data.path.target[Math.round(position)][component];
    return target[0] > 0 ? (at * ratio[0]) / target[0] : 0;
  };
  S.axisTitle = (component, position, brief) => `${R.component(component)} (${(100 * share(component, position)).toFixed(1)} %${brief ? "" : " of target variance"})`;
  S.nameOf = (d) => (d ? sets[d].name : "Target");

  const pieces = (values) => {
    const out = sets.map((set, d) => Array.from(values.subarray(starts[d], starts[d] + set.shown)));
    if (codes && S.hidden.size) for (let i = 0; i < codes.length; i++) if (S.hidden.has(codes[i])) out[0][i] = null;
    return out;
  };

  // Traces: the target, each background in its panel, then each background behind the target.
  const order = () => [0, ...Array.from({ length: m }, (_, j) => j + 1), ...Array.from({ length: m }, (_, j) => j + 1)];

  const feature = () => Number(S.colour.slice(1));
  const middle = (values) => {
    const sorted = Float64Array.from(values).filter(Number.isFinite).sort();
    const at = (q) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
    return at(0.01) < at(0.99) ? [at(0.01), at(0.99)] : [at(0) - 0.5, at(1) + 0.5];
  };

  // The scale of colours in use, with its range and what it shows; null where points have colours of groups.
  S.scale = () => {
    if (S.colour === "label" && labelValues) return { values: labelValues, range: middle(labelValues), all: false, title: data.labels.name };
    if (S.colour[0] !== "f") return null;
    const values = featureValues(feature());
    return { values, range: middle(values), all: true, title: data.features[data.colour.features[feature()]] };
  };

  const marker = (d, behind, colouring) => {
    const n = sets[d].shown;
    const size = n > 5000 ? 4 : n > 1500 ? 5 : 7;
    const base = { size, opacity: behind ? 0.45 : n > 1500 ? 0.65 : 0.8, line: { width: 0 } };
    if (colouring && (d === 0 || (colouring.all && !behind))) {
      const bar = { thickness: 10, len: 0.5, y: 0.98, yanchor: "top", x: 1.005, outlinewidth: 0, tickfont: { size: 11 }, title: { text: R.plain(R.short(colouring.title, 24)), font: { size: 12 } } };
      return { ...base, color: Array.from(colouring.values.subarray(starts[d], starts[d] + n)), cmin: colouring.range[0], cmax: colouring.range[1], colorscale: R.ramp(), showscale: d === 0, colorbar: bar };
    }
    if (d > 0) return { ...base, color: R.grey(d - 1), symbol: behind ? R.symbols[d % R.symbols.length] + "-open" : "circle" };
    if (S.colour === "label" && codes) {
      const colours = data.labels.levels.map((_, i) => R.colour(i));
      return { ...base, color: Array.from(codes, (c) => colours[c]), symbol: Array.from(codes, (c) => R.symbols[c % R.symbols.length]) };
    }
    return { ...base, color: R.colour(0) };
  };

  const texts = sets.map((set, d) => {
    const out = new Array(set.shown);
    for (let i = 0; i < set.shown; i++) {
      const global = starts[d] + i;
      const label = S.labelOf(global);
      const prefix = d === 0 && data.labels ? `${data.labels.name}: ` : "";
      out[i] = `<b>${R.plain(R.short(S.idOf(global), 60))}</b>` + (label ? `<br>${R.plain(R.short(prefix + label, 60))}` : "");
    }
    return out;
  });

  const heading = (place, text) => ({
    text, x: place.x[0], y: Math.max(...place.y), xref: "paper", yref: "paper", xanchor: "left", yanchor: "bottom",
    showarrow: false, font: { size: 13, color: R.variable("--ink") },
  });
  S.countOf = (set) => (set.shown < set.n ? `${R.grouped(set.shown)} of ${R.grouped(set.n)} rows` : `${R.grouped(set.n)} rows`);

  const axisName = (letter, i) => `${letter}axis${i ? i + 1 : ""}`;
  const layout = () => {
    const place = R.panels(box.clientWidth, m + 1);
    const brief = place.narrow && place.columns > 1;
    const title = (component) => ({ text: S.axisTitle(component, S.position, brief), font: { size: 13, color: R.variable("--soft") }, standoff: 8 });
    const out = R.layout({
      height: place.height + 72,
      width: box.clientWidth,
      margin: { l: 56, r: S.colour[0] === "f" || (S.colour === "label" && labelValues) ? 70 : 12, t: 26, b: 46 },
      dragmode: S.mode,
      hovermode: "closest",
      newselection: { line: { color: R.variable("--accent"), width: 2, dash: "solid" } },
      activeselection: { fillcolor: R.variable("--accent"), opacity: 0.06 },
      annotations: place.places.map((spot, i) => heading(spot, `<b>${R.plain(R.short(S.nameOf(i), brief ? 15 : 26))}</b>${brief ? "" : `  ${S.countOf(sets[i])}`}`)),
      selections: [],
    });
    place.places.forEach((spot, i) => {
      const same = { nticks: place.ticks, showline: true, mirror: true };
      const number = i ? String(i + 1) : "";
      out[axisName("x", i)] = R.axis({ ...same, domain: spot.x, anchor: `y${number}`, ...(i ? { matches: "x" } : { range: S.ranges[0] }) });
      out[axisName("y", i)] = R.axis({ ...same, domain: spot.y, anchor: `x${number}`, ...(i ? { matches: "y" } : { range: S.ranges[1] }) });
    });
    out[axisName("x", place.lowest)].title = title(S.x);
    out.yaxis.title = title(S.y);
    S.titled = { axis: axisName("x", place.lowest), brief };
    return out;
  };

  // Places of the points, and the ranges of the axes: those of all points, or what the user zoomed to.
  const coordinates = (position) => {
    const x = S.values(S.x, position), y = S.values(S.y, position);
    return { x: pieces(x), y: pieces(y), ranges: S.zoomed ? S.ranges : [range(x), range(y)] };
  };

  const selectedOf = (d) => {
    if (!S.selected) return null;
    const out = [];
    for (let i = 0; i < sets[d].shown; i++) if (S.selected.has(starts[d] + i)) out.push(i);
    return out;
  };

  // What is drawn last lies on top: backgrounds behind the target come first.
  const backFirst = (items) => [...items.slice(m + 1), ...items.slice(0, m + 1)];
  S.traces = ({ x, y }) => {
    const colouring = S.scale();
    const template = `%{text}<br>${R.component(S.x)}: %{x:.4g}<br>${R.component(S.y)}: %{y:.4g}<extra></extra>`;
    const traces = order().map((d, t) => {
      const behind = t > m;
      const axis = d === 0 || behind ? "" : String(d + 1);
      return {
        type: kind, mode: "markers", x: x[d], y: y[d], xaxis: `x${axis}`, yaxis: `y${axis}`,
        text: texts[d], hovertemplate: template, name: "", marker: marker(d, behind, colouring),
        visible: behind ? S.overlay : true, selectedpoints: selectedOf(d),
        selected: { marker: { opacity: 1 } }, unselected: { marker: { opacity: FAINT } },
      };
    });
    return backFirst(traces);
  };
  S.at = coordinates;
  S.draw = () => {
    const now = coordinates(S.position);
    S.ranges = now.ranges;
    S.curves = backFirst(order());
    return quietly(() => R.plot(box, S.traces(now), layout()).then(S.listen));
  };

  // Only positions change: the cheap way, for the slider.
  let busy = R.library;
  S.move = () => {
    if (!box.data) return S.draw();
    const { x, y, ranges } = coordinates(S.position);
    S.ranges = ranges;
    const named = (component) => S.axisTitle(component, S.position, S.titled.brief);
    const style = { x: S.curves.map((d) => x[d]), y: S.curves.map((d) => y[d]), selectedpoints: S.curves.map(selectedOf) };
    const axes = { [`${S.titled.axis}.title.text`]: named(S.x), "yaxis.title.text": named(S.y), selections: [] };
    if (!S.zoomed) Object.assign(axes, { "xaxis.range": S.ranges[0], "yaxis.range": S.ranges[1] });
    return quietly(() => Plotly.update(box, style, axes));
  };

  // Changes of our own, one after another, whose events are not the user's. The outline of a lasso goes: points move.
  const quietly = (change) => {
    const done = busy.then(() => {
      S.quiet = true;
      return change();
    }).finally(() => (S.quiet = false));
    busy = done.catch(() => {}); // one that fails does not stop those after it
    return done;
  };
  S.mark = () => (box.data ? quietly(() => Plotly.update(box, { selectedpoints: S.curves.map(selectedOf) }, { selections: [] })) : S.draw());

  let listening = false;
  S.listen = () => {
    if (listening) return;
    listening = true;
    box.on("plotly_selected", (event) => {
      if (S.quiet || !event || !event.points || !R.select) return;
      R.select(new Set(event.points.map((point) => starts[S.curves[point.curveNumber]] + point.pointNumber)));
    });
    box.on("plotly_relayout", (change) => {
      if (S.quiet || !Object.keys(change).some((key) => /^[xy]axis\d*\.range\[/.test(key))) return;
      S.zoomed = true;
      S.ranges = [box.layout.xaxis.range.slice(), box.layout.yaxis.range.slice()];
    });
  };

  R.parts.push(S.draw);
}
