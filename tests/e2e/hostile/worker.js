onconnect = (event) => event.ports[0].postMessage(1);
