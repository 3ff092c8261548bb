/** dynalite has no types: this is the part of it that the local stack uses. */
declare module 'dynalite' {
  import type { Server } from 'node:http';

  export default function dynalite(options: { createTableMs?: number; path?: string }): Server;
}
