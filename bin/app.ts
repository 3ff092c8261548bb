import { notificationsApp } from '../lib/app.ts';

try {
  notificationsApp().synth();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
