// `npm start`: runs the stack on this machine (CONTRIBUTING.md#local-stack).
require('./supported-node.ts');
import('./local/main.ts');
