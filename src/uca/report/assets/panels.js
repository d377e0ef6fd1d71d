// Where the panels of the scatter stand. All have the same size, so that the same spread looks the same in each.
R.panels = (width, n) => {
  const narrow = width < 640;
  const columns = narrow ? (n <= 3 ? 1 : 2) : n <= 3 ? n : n === 4 ? 2 : 3;
  const lines = Math.ceil(n / columns);
  const tall = narrow ? { 1: 340, 2: 250, 3: 230 }[n] || 170 : { 1: 520, 2: 480, 3: 430 }[n] || 310;
  const gapX = narrow ? 38 : 52, gapY = 52; // pixels: ticks, and the heading of the panel below
  const inner = width - 68; // without the margins of the drawing
  const height = lines * tall + (lines - 1) * gapY;
  const w = (inner - (columns - 1) * gapX) / columns / inner;
  const places = Array.from({ length: n }, (_, i) => {
    const x = (i % columns) * (w + gapX / inner), top = 1 - (Math.floor(i / columns) * (tall + gapY)) / height;
    return { x: [x, Math.min(1, x + w)], y: [Math.max(0, top - tall / height), top] };
  });
  // The title of the horizontal axis stands under the lowest panel of the first column.
  return { narrow, columns, height, places, lowest: (lines - 1) * columns, ticks: narrow && columns > 1 ? 6 : 8 };
};
