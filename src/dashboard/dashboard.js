// Says where the slider would move the clock. The form works without it.
const slider = document.querySelector('input[type=range][data-now]')
const told = document.querySelector('output[for=days]')
if (slider && told) {
  const tell = () => {
    const to = new Date(Date.parse(slider.dataset.now) + slider.valueAsNumber * 86_400_000)
    told.value = `${slider.value} days, to ${to.toISOString().slice(0, 16).replace('T', ' ')}`
  }
  slider.addEventListener('input', tell)
  told.hidden = false
  tell()
}
