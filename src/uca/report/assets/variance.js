// Variance bars: each component in the target and in each background, with the bounds.
{
  const { variance } = R.data;
  const box = R.element("bars");
  const groups = 1 + variance.names.length;
  const width = 0.8 / groups;
  const k = variance.target.length;
  const place = (c, g) => c + 1 + (g - (groups - 1) / 2) * width;

  const bars = (g, values, name, marker) => ({
    type: "bar", name: R.plain(R.short(name, 30)), x: values.map((_, c) => place(c, g)), y: values, width: 0.92 * width, marker,
    hovertemplate: values.map((_, c) => `${R.component(c)}, ${R.plain(R.short(name, 30))}: %{y:.4g}<extra></extra>`),
  });
  const bound = (which, dash, name) => {
    const x = [], y = [];
    for (const c of which) variance.bounds.forEach((value, j) => {
      x.push(place(c, j + 1) - width / 2, place(c, j + 1) + width / 2, null);
      y.push(value, value, null);
    });
    return { type: "scatter", mode: "lines", name, x, y, line: { color: R.variable("--warn"), width: 3, dash }, hovertemplate: "bound %{y:.4g}<extra></extra>" };
  };

  const draw = () => {
    const traces = [bars(0, variance.target, "target", { color: R.colour(0) })];
    variance.names.forEach((name, j) => {
      const pattern = { shape: R.patterns[j % R.patterns.length], fillmode: "overlay", fgcolor: R.variable("--card"), fgopacity: 1, size: 8, solidity: 0.25 };
      traces.push(bars(j + 1, variance.backgrounds.map((row) => row[j]), name, { color: R.grey(j), pattern }));
    });
    if (variance.names.length) {
      const all = variance.target.map((_, c) => c);
      const bound_ = variance.everyComponentBound ? all : [0];
      traces.push(bound(bound_, "solid", "bound"));
      const others = all.slice(bound_.length);
      if (others.length) traces.push(bound(others, "dot", "not bound here"));
    }
    const narrow = box.clientWidth < 640;
    const several = k > (narrow ? 6 : 12);
    const layout = R.layout({
      height: 340,
      width: box.clientWidth,
      showlegend: true,
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: { size: 13 } },
      margin: { l: 56, r: 12, t: 44, b: 36 },
      dragmode: false,
      xaxis: R.axis({ tickvals: several ? undefined : variance.target.map((_, c) => c + 1), ticktext: several ? undefined : variance.ratio.map((share, c) => narrow ? `${R.component(c)}<br>${(100 * share).toFixed(1)} %` : `${R.component(c)}<br>${(100 * share).toFixed(1)} % of target`), range: [0.45, k + 0.55], fixedrange: true, showgrid: false }),
      yaxis: R.axis({ title: { text: "variance", font: { size: 13, color: R.variable("--soft") } }, rangemode: "tozero", fixedrange: true }),
    });
    return R.plot(box, traces, layout);
  };
  R.parts.push(draw);
}
