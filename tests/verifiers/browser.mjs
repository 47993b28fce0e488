// The browser of the programs beside this one, and axe, which judges whether a page is accessible.

import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { chromium } from 'playwright-core'

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

export const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  timeout: 120_000,
})

// Returns what axe finds wrong with a page as it is now, each with where that is.
export async function violations(page, where) {
  // What is half faded in has half its contrast.
  await page.evaluate(() => Promise.allSettled(document.getAnimations()
    .filter(({ playState, effect }) => playState === 'running' && effect.getComputedTiming().endTime !== Infinity)
    .map(({ finished }) => finished)))
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe)
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }))
  return violations.map(({ id, nodes }) => `${where}: ${id}: ${nodes[0].html.slice(0, 200)}`)
}
