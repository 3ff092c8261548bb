import { connect } from 'node:net';

/** Sends raw bytes and returns everything received until the server closes the connection or sends `until`. */
export const sendRaw = (url: string, bytes: string, until?: string): Promise<string> => {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    let received = '';
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => {
      received += text;
      if (until !== undefined && received.includes(until)) socket.end();
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(received));
  });
};

export const parseRaw = (response: string): { status: number; body: string } => ({
  status: Number(response.split(' ')[1]),
  body: response.slice(response.indexOf('\r\n\r\n') + 4),
});
