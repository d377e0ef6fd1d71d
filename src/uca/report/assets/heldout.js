// Variance on held-out rows: each component in the target and in each background, with intervals; what is unique is shaded.
if (R.data.heldOut) {
  const { heldOut } = R.data;
  const box = R.element("held-out");
  const names = ["target", ...heldOut.names];
  const k = heldOut.values.length;
  const place = (c, g) => c + 1 + 0.7 * (g - (names.length - 1) / 2) / names.length;
  const colour = (g) => (g === 0 ? R.colour(0) : R.grey(g - 1));

  // Components that are unique, and those that are not, fainter: two traces, of which one stands in the legend.
  const points = (g, which, opacity, showlegend) => {
    const value = (rows) => which.map((c) => rows[c][g]);
    const y = value(heldOut.values), low = value(heldOut.low), high = value(heldOut.high);
    const name = R.plain(R.short(names[g], 30));
    return {
      type: "scatter", mode: "markers", name, showlegend, legendgroup: String(g), opacity, x: which.map((c) => place(c, g)), y,
      marker: { color: colour(g), size: 10, symbol: R.symbols[g % R.symbols.length] },
      error_y: { type: "data", symmetric: false, array: high.map((v, i) => v - y[i]), arrayminus: low.map((v, i) => y[i] - v), color: colour(g), thickness: 2, width: 0 },
      hovertemplate: which.map((c, i) => `${R.component(c)}, ${name}: ${R.number(y[i])} [${R.number(low[i])}, ${R.number(high[i])}]<extra></extra>`),
    };
  };

  const draw = () => {
    const all = heldOut.values.map((_, c) => c);
    const [unique, others] = [all.slice(0, heldOut.unique), all.slice(heldOut.unique)];
    const traces = names.flatMap((_, g) => [
      ...(unique.length ? [points(g, unique, 1, true)] : []),
      ...(others.length ? [points(g, others, 0.45, !unique.length)] : []),
    ]);
    const narrow = box.clientWidth < 640;
    const several = k > (narrow ? 6 : 12);
    const told = heldOut.p.map((p) => (p.startsWith("<") ? R.plain(p) : `= ${p}`));
    const ticks = narrow ? heldOut.p.map((p, c) => `${R.component(c)}<br>${R.plain(p)}`) : told.map((p, c) => `${R.component(c)}<br>p ${p}`);
    const ground = { type: "rect", xref: "x", yref: "paper", x0: 0.5, x1: heldOut.unique + 0.5, y0: 0, y1: 1, layer: "below", line: { width: 0 }, fillcolor: R.variable("--good-bg") };
    const word = { text: "unique", xref: "x", yref: "paper", x: 0.56, y: 1, xanchor: "left", yanchor: "top", showarrow: false, font: { size: 13, color: R.variable("--good") } };
    const layout = R.layout({
      height: 340,
      width: box.clientWidth,
      showlegend: true,
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: { size: 13 }, itemclick: false, itemdoubleclick: false },
      margin: { l: 56, r: 12, t: 44, b: 36 },
      dragmode: false,
      shapes: unique.length ? [ground] : [],
      annotations: unique.length ? [word] : [],
      xaxis: R.axis({ title: several ? undefined : { text: narrow ? "component, and its p-value" : "", font: { size: 13, color: R.variable("--soft") } }, tickvals: several ? undefined : all.map((c) => c + 1), ticktext: several ? undefined : ticks, tickangle: 0, range: [0.45, k + 0.55], fixedrange: true, showgrid: false, zeroline: false }),
      yaxis: R.axis({ title: { text: "variance on held-out rows", font: { size: 13, color: R.variable("--soft") } }, range: [0, 1.08 * Math.max(...heldOut.high.flat())], fixedrange: true }),
    });
    return R.plot(box, traces, layout);
  };
  R.parts.push(draw);
}
