import { connect } from 'node:net';

/** Sends bytes as they are and answers everything that comes back until the other side closes or `until` is seen. */
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

/** The status and the body of a raw answer. */
export const parseRaw = (answer: string): { status: number; body: string } => ({
  status: Number(answer.split(' ')[1]),
  body: answer.slice(answer.indexOf('\r\n\r\n') + 4),
});
