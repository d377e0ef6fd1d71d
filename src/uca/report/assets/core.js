// What every part of the page uses: the data, decoding, colours, text and files. Nothing here draws.
"use strict";
const R = {};

R.data = JSON.parse(document.getElementById("data").textContent);
R.component = (c) => `${R.data.prefix}${c + 1}`; // as the tables of the page call it
R.element = (id) => document.getElementById(id);

R.bytes = (base64) => {
  const text = atob(base64);
  const out = new Uint8Array(text.length);
  for (let i = 0; i < out.length; i++) out[i] = text.charCodeAt(i);
  return out.buffer;
};
R.floats = (base64) => new Float32Array(R.bytes(base64));

// Values stored in 16 bits along the last axis: step 0 is a missing value, the others run from low to low + span.
R.unpack = (packed, length) => {
  const steps = new Uint16Array(R.bytes(packed.q));
  const low = packed.low.flat(Infinity);
  const span = packed.span.flat(Infinity);
  return (row) => {
    const out = new Float64Array(length);
    const scale = span[row] / 65534;
    for (let i = 0; i < length; i++) {
      const step = steps[row * length + i];
      out[i] = step === 0 ? NaN : low[row] + (step - 1) * scale;
    }
    return out;
  };
};

// Plotly reads a few tags in its texts: names from the data must stay text.
R.plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
R.short = (text, limit) => (text.length > limit ? text.slice(0, limit - 1) + "…" : text);
R.number = (value) => {
  if (!Number.isFinite(value)) return "";
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-3 || size >= 1e5) ? value.toExponential(2) : String(Number(value.toPrecision(4)));
};
R.grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f");

R.make = (tag, properties, ...children) => {
  const node = Object.assign(document.createElement(tag), properties || {});
  node.append(...children);
  return node;
};

// CSV as spreadsheets read it. Text that a spreadsheet would take for a formula gets a leading apostrophe.
R.csv = (rows) => {
  const cell = (value) => {
    let text = String(value);
    if (typeof value === "string" && /^[=+\-@\t\r\n]/.test(text) && !/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) text = "'" + text;
    return /[",\n\r]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
  };
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
};
R.download = (name, content) => {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type: "text/csv;charset=utf-8" }));
  const link = R.make("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
};

// Colours that people with any kind of colour vision tell apart (after Okabe & Ito), one set for each theme.
R.palettes = {
  light: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5b5b5b"],
  dark: ["#4fa3e0", "#ff8a4c", "#2fc99e", "#e59ac6", "#f2b233", "#9bd6f8", "#c4c9d0"],
};
// Scales of colours: cividis on white, viridis on dark.
R.ramps = {
  light: ["#00224e", "#083370", "#35456c", "#4f576c", "#666970", "#7d7c78", "#948e77", "#aea371", "#c8b866", "#e5cf52", "#fee838"],
  dark: ["#440154", "#482475", "#414487", "#355f8d", "#2a788e", "#21918c", "#22a884", "#44bf70", "#7ad151", "#bddf26", "#fde725"],
};
R.ramp = () => R.ramps[R.theme()].map((colour, i, all) => [i / (all.length - 1), colour]);
R.greys = { light: ["#7b8592", "#a9b1bb", "#5a6470"], dark: ["#97a2b0", "#6c7785", "#c3cad3"] };
R.symbols = ["circle", "triangle-up", "square", "diamond", "cross", "triangle-down", "star", "hexagon", "pentagon", "x"];
R.patterns = ["", "/", "x", ".", "-", "+"];
R.paths = {
  circle: "M6 1.6A4.4 4.4 0 1 1 6 10.4A4.4 4.4 0 1 1 6 1.6Z",
  "triangle-up": "M6 1L11 10H1Z",
  square: "M2 2H10V10H2Z",
  diamond: "M6 .6L11.4 6L6 11.4L.6 6Z",
  cross: "M4.3 1H7.7V4.3H11V7.7H7.7V11H4.3V7.7H1V4.3H4.3Z",
  "triangle-down": "M1 2H11L6 11Z",
  star: "M6 .5L7.5 4.2L11.5 4.5L8.4 7L9.4 11L6 8.8L2.6 11L3.6 7L.5 4.5L4.5 4.2Z",
  hexagon: "M6 .8L10.5 3.4V8.6L6 11.2L1.5 8.6V3.4Z",
  pentagon: "M6 .8L11.2 4.6L9.2 10.8H2.8L.8 4.6Z",
  x: "M3 .9L6 3.9L9 .9L11.1 3L8.1 6L11.1 9L9 11.1L6 8.1L3 11.1L.9 9L3.9 6L.9 3Z",
};
R.icon = (symbol, colour) => {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  for (const [key, value] of [["width", "12"], ["height", "12"], ["viewBox", "0 0 12 12"], ["aria-hidden", "true"]]) svg.setAttribute(key, value);
  const shape = document.createElementNS(space, "path");
  shape.setAttribute("d", R.paths[symbol]);
  shape.setAttribute("fill", colour);
  svg.append(shape);
  return svg;
};

const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
R.dark = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : prefersDark.matches;
};
R.theme = () => (R.dark() ? "dark" : "light");
R.colour = (i) => R.palettes[R.theme()][i % R.palettes.light.length];
R.grey = (i) => R.greys[R.theme()][i % 3];
R.variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// The library that draws is unpacked while the page can already be used: what is drawn before waits for it, in order.
R.library = new Promise((resolve) => (R.libraryStarted = resolve));
R.plot = (box, traces, layout) => R.library.then(() => Plotly.react(box, traces, layout, R.config));

// Parts of the page register how they draw; all draw again when the theme changes.
R.parts = [];
R.redraw = () => {
  R.element("theme").textContent = R.dark() ? "Light" : "Dark";
  return Promise.all(R.parts.map((draw) => draw()));
};
R.element("theme").addEventListener("click", () => {
  document.documentElement.dataset.theme = R.dark() ? "light" : "dark";
  R.redraw();
});
prefersDark.addEventListener("change", () => R.redraw());

R.font = (size) => ({ family: getComputedStyle(document.body).fontFamily, size: size || 13, color: R.variable("--ink") });
R.axis = (extra) => ({
  gridcolor: R.variable("--grid"),
  zerolinecolor: R.variable("--line"),
  linecolor: R.variable("--line"),
  tickfont: { color: R.variable("--soft"), size: 12 },
  automargin: true,
  ...extra,
});
R.layout = (extra) => ({
  paper_bgcolor: "rgba(0,0,0,0)",
  plot_bgcolor: "rgba(0,0,0,0)",
  font: R.font(),
  showlegend: false,
  margin: { l: 56, r: 12, t: 26, b: 46 },
  hoverlabel: { bgcolor: R.variable("--card"), bordercolor: R.variable("--soft"), font: R.font(13), align: "left" },
  ...extra,
});
R.config = { displayModeBar: false, responsive: false, displaylogo: false, doubleClick: false, showTips: false };
