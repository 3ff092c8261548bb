import { escapeXml } from 'local-aws/aws-service.ts';
import { ANONYMOUS, type Call, totalMs } from './cpu-profile.ts';

const WIDTH = 1_200;
const ROW_HEIGHT = 15;
const TOP = 34;
/** Narrower calls are left out. */
const MIN_WIDTH = 1.5;
/** The width of a character of the labels. */
const CHARACTER_WIDTH = 6;

const COLORS: readonly (readonly [name: string, group: RegExp, color: string])[] = [
  ['Node.js', /Node\.js|V8|waiting|^$/, '#bab0ac'],
  ['compiling the bundle', /compiling/, '#e15759'],
  ['AWS SDK', /^@(aws-sdk|smithy|aws)\//, '#f28e2b'],
  ['zod', /^zod$/, '#b07aa1'],
  ['other libraries', /^(?!functions|shared|bundle)/, '#edc948'],
  ['the service', /./, '#59a14f'],
];

const colorOf = (group: string): string => COLORS.find(([, pattern]) => pattern.test(group))?.[2] ?? '#fff';

const legend = COLORS.map(([name, , color], index) => {
  const left = 8 + index * 170;
  return `<rect x="${left}" y="9" width="14" height="14" fill="${color}"/><text x="${left + 20}" y="20">${name}</text>`;
});

type Box = { call: Call; left: number; depth: number; width: number };

/** Lays out a call and its children from left to right in the order of their first sample. */
const boxes = (call: Call, left: number, depth: number, pixelsPerMs: number): Box[] => {
  const width = totalMs(call) * pixelsPerMs;
  if (width < MIN_WIDTH) return [];
  let childLeft = left;
  const children = [...call.children.values()].flatMap((child) => {
    const placed = boxes(child, childLeft, depth + 1, pixelsPerMs);
    childLeft += totalMs(child) * pixelsPerMs;
    return placed;
  });
  return [{ call, left, depth, width }, ...children];
};

const draw = ({ call, left, depth, width }: Box): string => {
  const top = TOP + depth * ROW_HEIGHT;
  const fullLabel = call.name === ANONYMOUS ? call.group : call.name;
  const label = fullLabel.slice(0, Math.max(0, Math.floor((width - 4) / CHARACTER_WIDTH)));
  const title = `${call.name}${call.group && ` – ${call.group}`}: ${totalMs(call).toFixed(1)} ms`;
  const text = label.length < 3 ? '' : `<text x="${(left + 2).toFixed(1)}" y="${top + 11}">${escapeXml(label)}</text>`;
  const box = `x="${left.toFixed(1)}" y="${top}" width="${(width - 0.3).toFixed(1)}" height="14"`;
  return `<g><title>${escapeXml(title)}</title><rect ${box} fill="${colorOf(call.group)}"/>${text}</g>`;
};

/** Returns a flame graph as SVG: callers above what they call, as wide as their time. */
export const flameGraph = (root: Call, title: string): string => {
  const drawn = boxes(root, 0, 0, WIDTH / totalMs(root));
  const height = TOP + (Math.max(...drawn.map(({ depth }) => depth)) + 1) * ROW_HEIGHT + 6;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="11" fill="#222">
<title>${escapeXml(title)}</title>
<rect width="${WIDTH}" height="${height}" fill="#fff"/>
${legend.join('')}
${drawn.map(draw).join('\n')}
</svg>
`;
};
