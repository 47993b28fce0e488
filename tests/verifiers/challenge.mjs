// A cardholder's browser: opens a challenge page on a narrow phone, answers, and tells where that ends. Called with the
// page's address, the button's name, and how: `click`, `keyboard`, or `no-javascript`.
import { browser } from './browser.mjs'

const [url, button, how] = process.argv.slice(2)
const context = await browser.newContext({
  viewport: { width: 320, height: 640 },
  isMobile: true,
  javaScriptEnabled: how !== 'no-javascript',
})
context.setDefaultTimeout(120_000)
const page = await context.newPage()
const complaints = []
page.on('console', (message) => complaints.push(message.text()))
await page.goto(url)
if (process.env.SCREENSHOT) await page.screenshot({ path: process.env.SCREENSHOT, fullPage: true })
const told = { title: await page.title(), read: await page.locator('body').ariaSnapshot() }
if (how !== 'no-javascript') {
  told.width = await page.evaluate(() => document.documentElement.scrollWidth)
  told.styled = await page.evaluate(() => getComputedStyle(document.querySelector('button')).display)
}
const elsewhere = page.waitForURL((address) => address.origin !== new URL(url).origin)
if (how === 'keyboard') {
  told.focused = []
  while (told.focused.at(-1) !== button && told.focused.length < 9) {
    await page.keyboard.press('Tab')
    told.focused.push(await page.evaluate(() => document.activeElement.textContent))
  }
  await page.keyboard.press('Enter')
} else {
  await page.getByRole('button', { name: button, exact: true }).click()
}
await elsewhere
console.log(JSON.stringify({ ...told, ended: page.url(), complaints }))
await browser.close()
