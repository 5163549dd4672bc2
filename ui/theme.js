"use strict";

// Before the first paint: the colours somebody has chosen here, else those of the system.
try {
  const theme = localStorage.getItem("skill-registry.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage may be forbidden: the system's colours remain.
}
