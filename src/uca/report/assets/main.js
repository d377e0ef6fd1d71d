// Controls of the scatter, and the start: unpack the drawing library, draw, follow the width of the window.
{
  const { data } = R;
  const S = R.scatter;
  const option = (value, text) => R.make("option", { value, textContent: text });

  const choices = Array.from({ length: data.k }, (_, c) => c);
  for (const [id, axis] of [["pick-x", "x"], ["pick-y", "y"]]) {
    const pick = R.element(id);
    pick.append(...choices.map((c) => option(String(c), R.component(c))));
    pick.value = String(S[axis]);
    pick.addEventListener("change", () => {
      S[axis] = Number(pick.value);
      S.zoomed = false;
      S.draw();
    });
  }

  const colour = R.element("pick-colour");
  if (data.labels) colour.append(option("label", R.short(data.labels.name, 40)));
  colour.append(option("none", "One colour"));
  const features = R.make("optgroup", { label: "Features, largest loadings first" });
  features.append(...data.colour.features.map((i, f) => option(`f${f}`, R.short(data.features[i], 60))));
  colour.append(features);
  colour.addEventListener("change", () => {
    S.colour = colour.value;
    if (S.colour !== "label") S.hidden.clear();
    S.draw();
    legend();
  });

  const MOST = 40;
  const legend = () => {
    const box = R.element("legend");
    box.replaceChildren();
    box.hidden = !(S.colour === "label" && S.codes);
    if (box.hidden) return;
    const levels = data.labels.levels;
    box.append(R.make("span", { className: "of", textContent: R.short(data.labels.name, 40) }));
    levels.slice(0, MOST).forEach((level, i) => {
      const button = R.make("button", { type: "button", title: level }, R.icon(R.symbols[i % R.symbols.length], R.colour(i)), R.short(level, 40));
      button.setAttribute("aria-pressed", String(!S.hidden.has(i)));
      button.addEventListener("click", () => {
        if (!S.hidden.delete(i)) S.hidden.add(i);
        button.setAttribute("aria-pressed", String(!S.hidden.has(i)));
        S.move();
      });
      box.append(button);
    });
    if (data.labels.total > MOST) box.append(`and ${data.labels.total - Math.min(MOST, levels.length)} more`);
  };
  R.parts.push(legend);

  for (const radio of document.querySelectorAll('input[name="mode"]')) {
    radio.addEventListener("change", () => {
      S.mode = radio.value;
      if (R.element("scatter").data) Plotly.relayout(R.element("scatter"), { dragmode: S.mode });
    });
  }
  const overlay = R.element("overlay");
  if (overlay) overlay.addEventListener("change", () => {
    S.overlay = overlay.checked;
    S.draw();
  });
  R.element("reset").addEventListener("click", () => {
    S.zoomed = false;
    S.draw();
  });
  R.element("picture").addEventListener("click", R.savePicture);
  // Inside a notebook the page has no address of its own, and links to its sections would lead to the notebook's.
  if (location.protocol === "about:") document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (!link) return;
    event.preventDefault();
    R.element(link.getAttribute("href").slice(1)).scrollIntoView();
  });

  const unpackLibrary = async () => {
    const packed = new Blob([R.bytes(R.element("plotly-gz").textContent)]);
    const text = await new Response(packed.stream().pipeThrough(new DecompressionStream("gzip"))).text();
    // The library announces itself in a global name; some builds leave it inside a wrapper's result.
    document.head.append(R.make("script", { textContent: text }));
    if (typeof Plotly === "undefined") throw new Error("the drawing library did not start");
  };

  const start = async () => {
    if (R.tables) R.tables();
    try {
      await unpackLibrary();
    } catch (error) {
      const failure = R.element("failure");
      failure.textContent = `The plots cannot be drawn (${error.message}). They need Chrome or Edge 80, Firefox 113 or Safari 16.4, or newer.${R.tables ? " The tables below are complete." : ""}`;
      failure.hidden = false;
      return;
    }
    R.element("scatter").replaceChildren();
    R.libraryStarted();
    await R.redraw();
    document.documentElement.dataset.ready = "yes";
    let width = window.innerWidth, wait = null;
    window.addEventListener("resize", () => {
      if (window.innerWidth === width) return;
      width = window.innerWidth;
      clearTimeout(wait);
      wait = setTimeout(R.redraw, 120);
    });
  };
  start();
}
