/// <reference types="vitest/config" />
import { fileURLToPath, URL } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** Where `make dev` finds the running server; the browser talks to Vite, Vite passes API and socket on. */
const server = process.env.HALO_DEV_SERVER ?? "http://127.0.0.1:9527";

export default defineConfig({
  // Built files are served under this address, immutable (their names carry a hash); see halo_site/spa.py.
  base: "/static/app/",
  plugins: [react()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    outDir: "../dist",
    emptyOutDir: true,
    manifest: true,
    target: "es2022",
    sourcemap: false,
    // The head script must be a file of its own: it runs before the style sheet, and inline scripts are forbidden.
    rollupOptions: { input: {
        app: fileURLToPath(new URL("./src/main.tsx", import.meta.url)),
        head: fileURLToPath(new URL("./src/head.ts", import.meta.url)),
      } },
    chunkSizeWarningLimit: 600,
  },
  server: {
    host: "127.0.0.1",
    proxy: {
      "/api": { target: server, changeOrigin: false },
      "/ws": { target: server, ws: true, changeOrigin: false },
    },
  },
  test: { environment: "happy-dom", include: ["src/**/*.test.{ts,tsx}"], restoreMocks: true, testTimeout: 60_000 },
});
