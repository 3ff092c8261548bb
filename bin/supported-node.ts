/**
 * Ends the process with one sentence if this version of Node.js cannot run the project. The entry points in this folder
 * contain only JavaScript and are CommonJS (`package.json`), so versions that cannot load TypeScript run them too.
 */
if (Number.parseInt(process.versions.node, 10) < 24) {
  const { existsSync } = require('node:fs');
  const { join } = require('node:path');
  const isInstalled = existsSync(join(__dirname, '../node_modules/node/bin/node'));
  const remedy = isInstalled
    ? 'use "npm start" and the other npm scripts, or "npx node" instead of "node"'
    : 'run "npm ci" without --ignore-scripts, which installs it for this project, and then "npm start"';
  process.stderr.write(`This project needs Node.js 24, not ${process.versions.node}: ${remedy}.\n`);
  process.exit(1);
}
