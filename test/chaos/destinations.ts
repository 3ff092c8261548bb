import { createServer } from 'node:http';

/** A delivery that a destination took. */
export type Taken = { delivery: string; at: number };

const eventIn = (body: string): string => /#(\d+)#/.exec(body)?.[1] ?? '';

/**
 * The destinations of all types that speak HTTP: about a third of their answers is a failure of some kind. What they took is
 * kept as `<event number> <notification>`; the notification is the last part of the address, or of the key in it.
 */
export const openDestinations = async (random: () => number, taken: Taken[]) => {
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('error', () => undefined);
    request.on('end', () => {
      const body = Buffer.concat(parts).toString('utf8');
      const address = request.url ?? '';
      const notification =
        /monitoring\.alerts\.([\w-]+)/.exec(body)?.[1] ??
        address
          .replace(/^\/router/, '')
          .split('/')
          .filter(Boolean)
          .at(-1) ??
        '';
      const chance = random();
      if (chance < 0.15) return response.writeHead(500).end();
      if (chance < 0.2) return response.writeHead(429, { 'retry-after': '1' }).end();
      if (chance < 0.22) return response.writeHead(address.startsWith('/hook') ? 410 : 404).end();
      if (chance < 0.26) return response.destroy();
      if (chance < 0.28) return response.writeHead(302, { location: 'http://169.254.169.254/' }).end();
      taken.push({ delivery: `${eventIn(body)} ${notification}`, at: Date.now() });
      const answer = () =>
        response.writeHead(address.startsWith('/feed') ? 201 : 200).end('{"result":"success","status":"success"}');
      return setTimeout(answer, random() * 20);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
};
