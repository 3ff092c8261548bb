import { synthesizeTo } from '../../bin/local/assembly.ts';

/** Synthesizes into the directory and with the settings in the arguments: `node synthesize.ts DIRECTORY SETTINGS`. */
const [, , directory = '', settings = '{}'] = process.argv;
synthesizeTo(directory, JSON.parse(settings));
