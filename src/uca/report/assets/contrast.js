// The contrast slider: moves the points from PCA through the optimum to ten times its contrast.
{
  const { data } = R;
  const S = R.scatter;
  const slider = R.element("contrast");
  if (data.path && slider) {
    const { path, variance } = data;
    const names = variance.names;
    const play = R.element("play");
    const calm = window.matchMedia("(prefers-reduced-motion: reduce)");
    let from = path.optimum, aim = path.optimum, began = 0, running = false;

    const factorText = (step) => (step === path.optimum ? "λ = λ̂, the optimum" : step === 0 ? "λ = 0, plain PCA" : `λ = ${R.number(path.factors[step])} λ̂`);
    const describe = () => {
      const parts = names.map((name, j) => `${R.short(name, 24)} ${R.number(path.backgrounds[aim][0][j])}`);
      R.element("contrast-text").textContent = `${factorText(aim)} · ${R.component(0)} has variance ${R.number(path.target[aim][0])} in the target; ${parts.join(", ")}`;
      slider.setAttribute("aria-valuetext", factorText(aim));
    };

    const LENGTH = 260; // milliseconds from one place to the next
    const step = async () => {
      const share = calm.matches ? 1 : Math.min(1, (performance.now() - began) / LENGTH);
      S.position = share === 1 ? aim : from + (aim - from) * share;
      await S.move();
      if (S.position === aim) {
        running = false;
        document.dispatchEvent(new CustomEvent("settled"));
      } else requestAnimationFrame(step);
    };
    const go = (target) => {
      from = S.position;
      aim = target;
      began = performance.now();
      slider.value = String(target);
      describe();
      R.drawPath();
      if (!running) {
        running = true;
        requestAnimationFrame(step);
      }
    };
    slider.addEventListener("input", () => {
      stop();
      go(Number(slider.value));
    });
    R.element("to-optimum").addEventListener("click", () => {
      stop();
      go(path.optimum);
    });

    let timer = null;
    const stop = () => {
      clearInterval(timer);
      timer = null;
      play.textContent = "Play";
      play.setAttribute("aria-pressed", "false");
    };
    play.addEventListener("click", () => {
      if (timer) return stop();
      if (aim === path.factors.length - 1) go(0);
      play.textContent = "Pause";
      play.setAttribute("aria-pressed", "true");
      timer = setInterval(() => {
        if (running) return;
        if (aim >= path.factors.length - 1) return stop();
        go(aim + 1);
      }, 420);
    });

    // Variance of component 1 along the ray, with the bounds and the place of the slider.
    const chart = R.element("path");
    const ticks = [0, 5, 10, 13, 17, 20];
    const tickText = ["0", "0.5", "1", "2", "5", "10"];
    R.drawPath = () => {
      const steps = path.factors.map((_, i) => i);
      const line = (values, name, colour, dash) => ({
        x: steps, y: values, name: R.plain(R.short(name, 28)), mode: "lines", line: { color: colour, width: 2.5, dash },
        hovertemplate: `${R.plain(R.short(name, 28))}: %{y:.4g}<extra></extra>`,
      });
      const dashes = ["solid", "dash", "dot", "dashdot"];
      const traces = [
        line(path.target.map((row) => row[0]), "target", R.colour(0), "solid"),
        ...names.map((name, j) => line(path.backgrounds.map((row) => row[0][j]), name, R.grey(j), dashes[j % 4])),
      ];
      const high = Math.max(...path.target.map((row) => row[0]), ...path.backgrounds.map((row) => Math.max(...row[0])), ...variance.bounds);
      const narrow = chart.clientWidth < 560;
      const bounds = [...new Set(variance.bounds)].slice(0, 4);
      const mark = (x, colour, dash, width) => ({ type: "line", x0: x, x1: x, y0: 0, y1: 1, yref: "paper", line: { color: colour, dash, width } });
      const layout = R.layout({
        height: narrow ? 190 + 20 * names.length : 200,
        width: chart.clientWidth,
        showlegend: true,
        legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: { size: 12 } },
        margin: { l: 50, r: 12, t: narrow ? 30 + 20 * names.length : 30, b: 42 },
        hovermode: "x",
        dragmode: false,
        xaxis: R.axis({ tickvals: ticks, ticktext: tickText, range: [0, 20], title: { text: "factor on λ̂", font: { size: 12, color: R.variable("--soft") }, standoff: 4 }, fixedrange: true }),
        yaxis: R.axis({ range: [0, 1.08 * high], nticks: 5, automargin: false, title: { text: "variance", font: { size: 12, color: R.variable("--soft") } }, fixedrange: true }),
        shapes: [
          ...bounds.map((bound) => ({ type: "line", x0: 0, x1: 1, xref: "paper", y0: bound, y1: bound, line: { color: R.variable("--warn"), dash: "dot", width: 1.5 } })),
          mark(path.optimum, R.variable("--good"), "dot", 2),
          mark(aim, R.variable("--ink"), "solid", 1.5),
        ],
        annotations: [
          ...bounds.map((bound) => ({ x: 1, xref: "paper", xanchor: "right", y: bound, yanchor: "bottom", text: "bound", showarrow: false, font: { size: 11, color: R.variable("--warn") } })),
        ],
      });
      return R.plot(chart, traces, layout);
    };
    R.parts.push(() => {
      describe();
      return R.drawPath();
    });
  }
}
