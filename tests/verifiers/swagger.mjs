// A reader of the Swagger page, at a desk and on a phone: opens an operation, presses Execute twice as it stands, filters, and
// has the page judged by axe. Called with the page's address, the operation's tag and its id; tells what was met on the way.
// SCREENSHOTS names a folder for pictures.
import { browser, violations } from './browser.mjs'

const [url, tag, operation] = process.argv.slice(2)
const told = { visits: [], elsewhere: [], complaints: [], findings: [], wide: [] }

async function visitor(options) {
  const context = await browser.newContext(options)
  context.setDefaultTimeout(120_000)
  const page = await context.newPage()
  // Warnings are Swagger UI's own; what the policy forbids is an error.
  page.on('console', (message) => message.type() === 'error' && told.complaints.push(message.text()))
  page.on('pageerror', (error) => told.complaints.push(String(error)))
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== new URL(url).origin && !/^(data|blob):/.test(request.url())) told.elsewhere.push(request.url())
  })
  return page
}

const shot = async (page, name) => {
  if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/swagger-${name}.png`, fullPage: name.includes('whole') })
}

// Wait until all sections are painted, and from a click until its operation is.
const sectionsPainted = () => new Promise((done) => {
  const look = () => {
    if (document.querySelectorAll('.opblock-tag').length > 1) requestAnimationFrame(() => setTimeout(done))
    else setTimeout(look, 5)
  }
  look()
})
const operationOpened = (id) => new Promise((done) => {
  document.querySelector(`[id="${id}"] .opblock-summary-control`).click()
  const look = () => {
    const block = document.getElementById(id)
    if (block.querySelector('.execute') && block.querySelector('.responses-table')) {
      requestAnimationFrame(() => setTimeout(done))
    } else setTimeout(look, 2)
  }
  look()
})

// Returns what tells how many milliseconds of a processor the page's thread has worked: the same however busy the machine is.
async function work(page) {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  return async () => {
    const { metrics } = await session.send('Performance.getMetrics')
    return Math.round(metrics.find(({ name }) => name === 'TaskDuration').value * 1000)
  }
}

const id = `operations-${tag}-${operation}`
const desk = { viewport: { width: 1280, height: 1024 } }
// The first one finds a server that has not written its document yet.
for (let visit = 0; visit < 4; visit += 1) {
  const page = await visitor(desk)
  const worked = await work(page)
  await page.goto(url, { waitUntil: 'commit' })
  await page.evaluate(sectionsPainted)
  const sections = await worked()
  await page.locator(`.opblock-tag[data-tag="${tag}"]`).click()
  await page.locator(`[id="${id}"]`).waitFor()
  const before = await worked()
  await page.evaluate(operationOpened, id)
  const operation = (await worked()) - before
  const bytes = await page.evaluate(() => performance.getEntries().reduce((sum, { transferSize }) => sum + (transferSize ?? 0), 0))
  told.visits.push({ sections, operation, bytes })
  await page.context().close()
}

const page = await visitor(desk)
await page.goto(`${url}#/${tag}/${operation}`)
const block = page.locator(`[id="${id}"]`)
const execute = block.getByRole('button', { name: 'Execute' })
await execute.waitFor()
told.title = await page.title()
told.key = await block.locator('[data-param-name="Idempotency-Key"] input').inputValue()
told.sections = await page.locator('.opblock-tag').evaluateAll((tags) => tags.map((tag) => tag.dataset.tag))
await page.locator('.introduction summary').click()
// The fold's text is drawn after it has opened.
const headings = page.locator('.introduction h2')
await headings.first().waitFor()
told.headings = await headings.allInnerTexts()
told.answers = []
for (let time = 0; time < 2; time += 1) {
  const [answer] = await Promise.all([page.waitForResponse((response) => response.request().method() === 'POST'), execute.click()])
  const body = await answer.json()
  told.answers.push({ status: answer.status(), token: body.response?.token, error: body.error })
  await block.locator('.live-responses-table .highlight-code', { hasText: body.response?.token ?? body.error }).first().waitFor()
}
const status = block.locator('.live-responses-table .response .response-col_status')
told.shown = (await status.first().innerText()).trim().split(/\s/)[0]
await shot(page, 'executed')

const filter = page.getByLabel('Filter operations')
await filter.fill('/VOID')
await page.locator('.found', { hasText: 'match' }).waitFor()
// Its matches are open.
told.filtered = await page.locator('.opblock-tag-section .opblock-summary-path').evaluateAll((paths) => paths.map((path) => path.dataset.path))
await page.context().close()

// Every section and one operation open, then the dialog for keys.
for (const [name, options] of [
  ['desk', desk],
  ['phone', { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }],
]) {
  const page = await visitor(options)
  await page.goto(`${url}#/${tag}/${operation}`)
  await page.locator(`[id="${id}"] .execute`).waitFor()
  await shot(page, `${name}-operation`)
  await page.locator(`[id="${id}"]`).evaluate((block) => {
    for (const heading of document.querySelectorAll('.opblock-tag[data-is-open="false"]')) heading.click()
    return block.id
  })
  await page.locator('.opblock-tag[data-is-open="false"]').first().waitFor({ state: 'detached' })
  const spread = await page.evaluate(() => document.documentElement.scrollWidth)
  if (spread > options.viewport.width) told.wide.push(`${name}: ${spread}`)
  told.findings.push(...await violations(page, `${name}, sections`))
  await shot(page, `${name}-whole`)
  await page.locator('.scheme-container .authorize').click()
  await page.getByRole('button', { name: 'Close' }).first().waitFor()
  told.findings.push(...await violations(page, `${name}, keys`))
  await shot(page, `${name}-keys`)
  await page.context().close()
}
console.log(JSON.stringify(told))
await browser.close()
