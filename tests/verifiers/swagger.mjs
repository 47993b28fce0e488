// A reader of the Swagger page: opens an operation by its deep link, presses Execute as it stands, and tells what came.
// Called with the page's address, the operation's tag and its id.
import { chromium } from 'playwright-core'

const [url, tag, operation] = process.argv.slice(2)
const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  timeout: 120_000,
})
const context = await browser.newContext({ viewport: { width: 1280, height: 1024 } })
context.setDefaultTimeout(120_000)
const page = await context.newPage()
const elsewhere = []
page.on('request', (request) => {
  if (new URL(request.url()).origin !== new URL(url).origin && !request.url().startsWith('data:')) elsewhere.push(request.url())
})
await page.goto(`${url}#/${tag}/${operation}`)
const block = page.locator(`[id="operations-${tag}-${operation}"]`)
await block.getByRole('button', { name: 'Execute' }).click()
const status = block.locator('.live-responses-table .response .response-col_status')
await status.first().waitFor()
const told = {
  status: (await status.first().innerText()).trim().split(/\s/)[0],
  body: await block.locator('.live-responses-table .response .highlight-code').first().innerText(),
  sections: await page.locator('.opblock-tag').evaluateAll((tags) => tags.map((tag) => tag.dataset.tag)),
  headings: await page.locator('.info h2').allInnerTexts(),
  elsewhere,
}
if (process.env.SCREENSHOT) await page.screenshot({ path: process.env.SCREENSHOT, fullPage: true })
console.log(JSON.stringify(told))
await browser.close()
