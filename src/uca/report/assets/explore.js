// In a frame of a notebook: says how tall the page is, so that the frame can follow and nothing scrolls inside it.
if (window.parent !== window) {
  new ResizeObserver(() => window.parent.postMessage({ ucaHeight: document.documentElement.offsetHeight }, "*")).observe(document.documentElement);
}
