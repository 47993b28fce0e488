// Somebody works with the Swagger page: sends forms, carries on with what was answered, comes back, searches, and takes the
// requests along as code. Called with the page's address; tells what was met on the way. SCREENSHOTS names a folder for pictures.
import { browser, violations } from './browser.mjs'

const [url] = process.argv.slice(2)
const told = { complaints: [], findings: [], wide: [], code: {} }

async function visitor(options) {
  const context = await browser.newContext(options)
  context.setDefaultTimeout(120_000)
  const page = await context.newPage()
  page.on('console', (message) => {
    // The browser tells of refusals, which some of these requests are for.
    if (message.type() === 'error' && !message.text().includes('status of')) told.complaints.push(message.text())
  })
  page.on('pageerror', (error) => told.complaints.push(String(error)))
  return page
}

const open = async (page, section, id) => {
  await page.goto('about:blank')
  await page.goto(`${url}#/${section}/${id}`)
  const block = page.locator(`[id="operations-${section}-${id}"]`)
  await block.getByRole('button', { name: 'Execute' }).waitFor()
  return block
}

// Presses Execute, and returns what is answered.
const execute = async (page, block) => {
  const [answer] = await Promise.all([
    page.waitForResponse((response) => new URL(response.url()).pathname.includes('/1/')),
    block.getByRole('button', { name: 'Execute' }).click(),
  ])
  const body = await answer.json()
  await block.locator('.live-responses-table .highlight-code', { hasText: body.response?.token ?? body.error }).first().waitFor()
  return { status: answer.status(), token: body.response?.token, error: body.error, path: new URL(answer.url()).pathname, sent: answer.request().postData() }
}

const page = await visitor({ viewport: { width: 1280, height: 1024 } })
const FORM = 'application/x-www-form-urlencoded'

// A form as it stands, with what the sandbox offers, and with another payer.
let block = await open(page, 'Cards', 'create_card')
told.card = await execute(page, block)
block = await open(page, 'Charges', 'create_charge')
told.height = await block.evaluate((element) => element.offsetHeight)
told.introduction = await page.locator('.introduction').evaluate((fold) => fold.open)
told.errors = await block.locator('tr[data-code="400"] pre').count()
told.described = await block.locator('[data-property-name="amount"]').innerText()
told.webhooks = await page.locator('.opblock-tag-section:not(:has(.opblock-tag))').count()
await block.getByLabel('Request content type').selectOption(FORM)
await block.getByLabel('amount', { exact: true }).waitFor()
told.form = await execute(page, block)
const outcome = block.getByLabel('Sandbox-Outcome')
told.outcomes = await outcome.locator('option').allInnerTexts()
await outcome.selectOption('lost_card')
told.lost = await execute(page, block)
await outcome.selectOption('')
const cards = block.getByLabel('Test card')
told.cards = await cards.locator('option').allInnerTexts()
await cards.selectOption('4000000000000002')
told.funds = await execute(page, block)
await cards.selectOption('4200000000000000')
const payer = block.getByLabel('One of')
told.payers = await payer.locator('option').allInnerTexts()
await payer.selectOption('card_token')
told.offered = await block.getByLabel('card_token', { exact: true }).inputValue()
told.byToken = await execute(page, block)
await payer.selectOption('card')
await block.getByLabel('description', { exact: true }).fill('tea for two')
for (const name of ['curl', 'Python', 'TypeScript', 'PHP', 'Go']) {
  await block.getByRole('tab', { name, exact: true }).click()
  told.code[`${name} of a form`] = await block.locator('.code pre').innerText()
}
told.last = await execute(page, block)

// On to the next operation.
await block.getByRole('link', { name: 'Get a charge' }).first().click()
const next = page.locator('[id="operations-Charges-get_charge"]')
await next.getByRole('button', { name: 'Execute' }).waitFor()
told.follows = await next.getByLabel('charge_token', { exact: true }).inputValue()
told.got = await execute(page, next)

// The tab remembers, without keys.
block = await open(page, 'Charges', 'create_charge')
told.media = await block.getByLabel('Request content type').inputValue()
told.kept = await block.getByLabel('description', { exact: true }).inputValue()
told.stored = await page.evaluate(() => JSON.stringify(sessionStorage))
await block.getByLabel('Request content type').selectOption('application/json')
const text = block.getByLabel('Request body')
await text.waitFor()
await block.getByLabel('One of').selectOption('customer_token')
told.customer = await text.inputValue()
await block.getByRole('button', { name: 'Back to the example' }).click()
for (const name of ['curl', 'Python', 'TypeScript', 'PHP', 'Go']) {
  await block.getByRole('tab', { name, exact: true }).click()
  told.code[`${name} of JSON`] = await block.locator('.code pre').innerText()
}

// In another tab nothing is known, so nothing is filled in.
const stranger = await visitor({ viewport: { width: 1280, height: 1024 } })
told.strange = await (await open(stranger, 'Charges', 'get_charge')).getByLabel('charge_token', { exact: true }).inputValue()

// The filter.
const filter = page.getByLabel('Filter operations')
told.found = {}
for (const phrase of ['suspected_fraud', 'publishable_api_key', 'platform_adjustment', 'seven days capture', 'pangolin']) {
  await filter.fill(phrase)
  await page.locator('.found', { hasText: phrase === 'pangolin' ? 'No operation' : 'match' }).waitFor()
  const paths = page.locator('.opblock-tag-section .opblock-summary-path')
  told.found[phrase] = { said: await page.getByRole('status').first().innerText(), paths: await paths.evaluateAll((all) => all.map((one) => one.dataset.path)) }
}
await filter.fill('')
await page.evaluate(() => scrollTo(0, document.body.scrollHeight))
told.filter = await filter.evaluate((input) => input.getBoundingClientRect().top >= 0 && input.getBoundingClientRect().bottom <= innerHeight)

// In the light and in the dark, at a desk and on a phone.
const sizes = [['desk', { viewport: { width: 1280, height: 1024 } }], ['phone', { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }]]
for (const [name, options] of sizes) {
  for (const colorScheme of ['light', 'dark']) {
    const page = await visitor({ ...options, colorScheme })
    const block = await open(page, 'Charges', 'create_charge')
    await execute(page, block)
    await block.locator('.folded button').first().click()
    await page.locator('.introduction summary').click()
    const judge = async (what) => {
      const spread = await page.evaluate(() => document.documentElement.scrollWidth)
      if (spread > options.viewport.width) told.wide.push(`${name}, ${what}: ${spread}`)
      told.findings.push(...await violations(page, `${name} ${colorScheme}, ${what}`))
      if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/swagger-${name}-${colorScheme}-${what}.png` })
    }
    await judge('json')
    await block.getByLabel('Request content type').selectOption(FORM)
    await block.getByLabel('amount', { exact: true }).waitFor()
    await judge('form')
    await page.getByLabel('Filter operations').fill('pangolin')
    await page.locator('.found', { hasText: 'No operation' }).waitFor()
    await judge('nothing')
    told.dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    await page.context().close()
  }
}
console.log(JSON.stringify(told))
await browser.close()
