/** dynalite has no type declarations; these cover what this folder uses. */
declare module 'dynalite' {
  import type { Server } from 'node:http';

  export default function dynalite(options: { createTableMs?: number; path?: string }): Server;
}
