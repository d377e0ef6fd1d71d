// The picture that is saved: drawn anew on a canvas of one size, with the title, the method and the place of the slider, so that
// it can be read away from the page. A canvas needs no image address, which strict content policies forbid.
{
  const { data } = R;
  const S = R.scatter;
  const WIDTH = 1200, SCALE = 2, EDGE = 28, LEFT = 76, MOST = 40;
  const stepNow = () => Math.round(S.position);

  // What the points are, in words: "λ = 0 (PCA)", "λ as fitted".
  R.state = (step) => {
    if (!data.path) return data.state;
    if (step === data.path.optimum) return "λ as fitted";
    return step === 0 ? "λ = 0 (PCA)" : `λ = ${R.number(data.path.factors[step])} × fitted λ`;
  };
  const fitted = (step) => !data.path || step === data.path.optimum;
  const coloured = () => (S.scale() ? S.scale().title : S.colour === "label" ? data.labels.name : "");

  R.pictureName = () => {
    const clean = (text, limit) => text.normalize("NFC").replace(/λ/g, "lambda").replace(/×/g, "x").replace(/[^\p{L}\p{N}.]+/gu, "-").slice(0, limit).replace(/^[-.]+|[-.]+$/g, "");
    const parts = [clean(data.title, 50), data.method, clean(R.state(stepNow()), 40), `${R.component(S.x)}-${R.component(S.y)}`, coloured() && `by-${clean(coloured(), 40)}`];
    return `${parts.filter(Boolean).join("_")}.png`;
  };

  const ticksOf = ([low, high], most) => {
    const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find((f) => f * power >= rough) * power;
    const first = Math.ceil(low / step), count = Math.floor(high / step) - first + 1;
    return Array.from({ length: Math.max(0, count) }, (_, i) => ({ value: (first + i) * step, text: String(Number(((first + i) * step).toPrecision(10))).replace("-", "−") }));
  };

  const brush = (context) => {
    const family = getComputedStyle(document.body).fontFamily;
    const style = (size, name, weight) => {
      context.font = `${weight || 400} ${size}px ${family}`;
      context.fillStyle = R.variable(name);
    };
    const write = (text, x, y, align) => {
      context.textAlign = align || "left";
      context.fillText(text, x, y);
    };
    const wrapped = (text, width, most) => {
      const lines = [""];
      for (const word of text.split(/\s+/)) {
        const longer = lines[lines.length - 1] ? `${lines[lines.length - 1]} ${word}` : word;
        if (context.measureText(longer).width <= width || !lines[lines.length - 1]) lines[lines.length - 1] = longer;
        else lines.push(word);
      }
      if (lines.length > most) lines[most - 1] += " …";
      return lines.slice(0, most).map((line) => fitting(line, width));
    };
    const fitting = (text, width) => {
      let kept = text;
      while (kept && context.measureText(kept).width > width) kept = kept.slice(0, -1);
      return kept === text ? text : `${kept.slice(0, -1)}…`;
    };
    const rectangle = (x, y, w, h, name) => {
      context.strokeStyle = R.variable(name);
      context.lineWidth = 1;
      context.strokeRect(x, y, w, h);
    };
    const line = (x0, y0, x1, y1, name) => {
      context.strokeStyle = R.variable(name);
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(x0, y0);
      context.lineTo(x1, y1);
      context.stroke();
    };
    const shapes = Object.fromEntries(Object.entries(R.paths).map(([name, path]) => [name, new Path2D(path)]));
    const symbol = (name, x, y, size, colour) => {
      const open = name.endsWith("-open");
      context.save();
      context.translate(x, y);
      context.scale(size / 9, size / 9);
      context.translate(-6, -6);
      context.fillStyle = context.strokeStyle = colour;
      context.lineWidth = 1.3;
      context[open ? "stroke" : "fill"](shapes[open ? name.slice(0, -5) : name]);
      context.restore();
    };
    return { context, style, write, wrapped, rectangle, line, symbol };
  };

  // Title, and what the points are. Other places of the slider than the fitted one stand out: their points are not the result.
  const head = (b) => {
    let y = EDGE + 20;
    b.style(24, "--ink", 650);
    for (const text of b.wrapped(data.title, WIDTH - 2 * EDGE, 2)) {
      b.write(text, EDGE, y);
      y += 30;
    }
    const step = stepNow();
    b.style(17, fitted(step) ? "--ink" : "--warn", fitted(step) ? 400 : 650);
    b.write(`${data.method}, ${R.state(step)}${fitted(step) ? "" : ": not the fitted components"}`, EDGE, y);
    return y + 16;
  };

  // Entries of the legend: what each symbol stands for. Groups that are hidden are named as such.
  const entries = () => {
    const groups = S.colour === "label" && S.codes ? data.labels.levels : [];
    const shown = groups.slice(0, MOST).map((name, i) => ({ name: R.short(name, 40), symbol: R.symbols[i % R.symbols.length], colour: R.colour(i), i }));
    const more = groups.length && data.labels.total > MOST ? [{ name: `and ${data.labels.total - Math.min(MOST, groups.length)} more` }] : [];
    const behind = S.overlay ? S.sets.slice(1).map((set, j) => ({ name: R.short(set.name, 40), symbol: `${R.symbols[(j + 1) % R.symbols.length]}-open`, colour: R.grey(j) })) : [];
    const seen = shown.filter(({ i }) => !S.hidden.has(i)), hidden = shown.filter(({ i }) => S.hidden.has(i));
    return [...seen, ...more, ...behind, ...(hidden.length ? [{ name: `not shown: ${hidden.map(({ name }) => name).join(", ")}` }] : [])];
  };
  const scaleLegend = (b, scale, x, y) => {
    const length = 220, ends = scale.range.map(R.number);
    const gradient = b.context.createLinearGradient(x, 0, x + length, 0);
    for (const [at, colour] of R.ramp()) gradient.addColorStop(at, colour);
    b.style(14, "--soft");
    b.write(ends[0], x, y);
    const start = x + b.context.measureText(ends[0]).width + 8;
    b.context.fillStyle = gradient;
    b.context.save();
    b.context.translate(start - x, 0);
    b.context.fillRect(x, y - 11, length, 12);
    b.context.restore();
    b.style(14, "--soft");
    b.write(ends[1], start + length + 8, y);
    return start + length + 28 + b.context.measureText(ends[1]).width;
  };
  const legend = (b, top) => {
    const items = entries(), scale = S.scale(), name = coloured();
    if (!items.length && !scale) return top;
    let x = EDGE, y = top + 18;
    if (name) {
      b.style(15, "--ink", 650);
      b.write(R.short(name, 60), x, y);
      x += b.context.measureText(R.short(name, 60)).width + 20;
    }
    if (scale) x = scaleLegend(b, scale, x, y);
    for (const item of items) {
      b.style(15, "--ink");
      const wide = b.context.measureText(item.name).width + (item.symbol ? 40 : 22);
      if (x + wide > WIDTH - EDGE && x > EDGE) [x, y] = [EDGE, y + 24];
      if (item.symbol) b.symbol(item.symbol, x + 7, y - 5, 11, item.colour);
      b.write(item.name, x + (item.symbol ? 20 : 0), y);
      x += wide;
    }
    return y + 12;
  };

  const frame = (b, at, ranges, most, heading, count) => {
    const { x, y, w, h } = at;
    const place = (axis, value) => (axis ? y + h - ((value - ranges[1][0]) / (ranges[1][1] - ranges[1][0])) * h : x + ((value - ranges[0][0]) / (ranges[0][1] - ranges[0][0])) * w);
    for (const tick of ticksOf(ranges[0], most)) {
      b.line(place(0, tick.value), y, place(0, tick.value), y + h, tick.value === 0 ? "--line" : "--grid");
      b.style(13, "--soft");
      b.write(tick.text, place(0, tick.value), y + h + 17, "center");
    }
    for (const tick of ticksOf(ranges[1], most)) {
      b.line(x, place(1, tick.value), x + w, place(1, tick.value), tick.value === 0 ? "--line" : "--grid");
      b.style(13, "--soft");
      b.write(tick.text, x - 7, place(1, tick.value) + 4, "right");
    }
    b.rectangle(x, y, w, h, "--line");
    b.style(15, "--ink", 650);
    b.write(heading, x, y - 8);
    const used = b.context.measureText(heading).width;
    b.style(14, "--soft");
    b.write(count, x + used + 10, y - 8);
    return place;
  };

  const points = (b, trace, at, place) => {
    const { marker, selectedpoints: selected } = trace;
    const kept = selected && new Set(selected), ramp = R.ramps[R.theme()];
    const colourOf = (i) => {
      if (!Array.isArray(marker.color)) return marker.color;
      const value = marker.color[i];
      if (typeof value === "string") return value;
      return Number.isFinite(value) ? ramp[Math.round(10 * Math.min(1, Math.max(0, (value - marker.cmin) / (marker.cmax - marker.cmin))))] : R.variable("--line");
    };
    b.context.save();
    b.context.beginPath();
    b.context.rect(at.x, at.y, at.w, at.h);
    b.context.clip();
    trace.x.forEach((value, i) => {
      if (value === null) return;
      b.context.globalAlpha = kept ? (kept.has(i) ? 1 : trace.unselected.marker.opacity) : marker.opacity;
      const symbol = Array.isArray(marker.symbol) ? marker.symbol[i] : marker.symbol || "circle";
      b.symbol(symbol, place(0, value), place(1, trace.y[i]), 1.15 * marker.size, colourOf(i));
    });
    b.context.restore();
  };

  const panels = (b, top, plan) => {
    const step = data.path ? stepNow() : S.position;
    const now = S.at(step), inner = WIDTH - LEFT - EDGE;
    const traces = S.traces(now).filter((trace) => trace.visible);
    plan.places.forEach((spot, d) => {
      const at = { x: LEFT + spot.x[0] * inner, w: (spot.x[1] - spot.x[0]) * inner, y: top + (1 - spot.y[1]) * plan.height, h: (spot.y[1] - spot.y[0]) * plan.height };
      const place = frame(b, at, now.ranges, plan.ticks, R.short(S.nameOf(d), 26), S.countOf(S.sets[d]));
      const axis = d ? `x${d + 1}` : "x";
      for (const trace of traces) if (trace.xaxis === axis) points(b, trace, at, place);
      b.style(15, "--soft");
      if (d === plan.lowest) b.write(S.axisTitle(S.x, step), at.x + at.w / 2, at.y + at.h + 40, "center");
      if (d === 0) {
        b.context.save();
        b.context.translate(EDGE - 2, at.y + at.h / 2);
        b.context.rotate(-Math.PI / 2);
        b.write(S.axisTitle(S.y, step), 0, 0, "center");
        b.context.restore();
      }
    });
  };

  R.picture = () => {
    const plan = R.panels(WIDTH, S.sets.length);
    const canvas = document.createElement("canvas");
    const measure = brush(canvas.getContext("2d"));
    const top = legend(measure, head(measure)) + 34; // drawn once to know how tall it is
    Object.assign(canvas, { width: SCALE * WIDTH, height: SCALE * Math.ceil(top + plan.height + 40 + EDGE) });
    const b = brush(canvas.getContext("2d"));
    b.context.scale(SCALE, SCALE);
    b.context.fillStyle = R.variable("--card");
    b.context.fillRect(0, 0, canvas.width, canvas.height);
    legend(b, head(b));
    panels(b, top, plan);
    return canvas;
  };
  R.savePicture = () => R.picture().toBlob((file) => R.download(R.pictureName(), file), "image/png");
}
